import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a model service wants back with an answer is kept with the answer, and deleted with it. */
export class ProviderState1763683200049 implements MigrationInterface {
  name = 'ProviderState1763683200049';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_message ADD COLUMN provider_state jsonb;
      ALTER TABLE chat_step ADD COLUMN provider_state jsonb;
      ALTER TABLE harness_message ADD COLUMN provider_state jsonb;
      COMMENT ON COLUMN chat_message.provider_state IS 'What the service of the model wants back with the last text; opaque';
      COMMENT ON COLUMN chat_step.provider_state IS 'What the service of the model wants back with the answer; opaque';
      COMMENT ON COLUMN harness_message.provider_state IS 'What the service of the model wants back with the answer; opaque';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_message DROP COLUMN provider_state;
      ALTER TABLE chat_step DROP COLUMN provider_state;
      ALTER TABLE chat_message DROP COLUMN provider_state;
    `);
  }
}
