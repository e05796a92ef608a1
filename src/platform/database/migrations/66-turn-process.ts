import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which process answers a turn, so that the turns of one that has ended are freed before their leases expire. */
export class TurnProcess1763683200066 implements MigrationInterface {
  name = 'TurnProcess1763683200066';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_session ADD COLUMN turn_process varchar(200);
      ALTER TABLE chat_turn_lease ADD COLUMN process varchar(200);
      COMMENT ON COLUMN chat_session.turn_process IS 'The process that answers the turn; NULL for one of an earlier release';
      COMMENT ON COLUMN chat_turn_lease.process IS 'The process that answers the turn; NULL for one of an earlier release';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_turn_lease DROP COLUMN process;
      ALTER TABLE chat_session DROP COLUMN turn_process;
    `);
  }
}
