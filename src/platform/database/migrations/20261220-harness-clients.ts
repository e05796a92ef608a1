import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One numbered stream of a user's harness events, and when a session's plans need a person. */
export class HarnessClients2026122000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE harness_stream (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        user_id bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        next_sequence bigint NOT NULL DEFAULT 1,
        PRIMARY KEY (tenant_id, user_id)
      );
      CREATE INDEX harness_stream_user_id_fk ON harness_stream (user_id);
      ALTER TABLE harness_event
        ADD COLUMN user_id bigint,
        ADD COLUMN user_sequence bigint;
      CREATE UNIQUE INDEX harness_event_of_user ON harness_event (tenant_id, user_id, user_sequence)
        WHERE user_sequence IS NOT NULL;
      CREATE INDEX harness_event_unnumbered ON harness_event (tenant_id, user_id)
        WHERE user_sequence IS NULL AND user_id IS NOT NULL;
      ALTER TABLE harness_session
        ADD COLUMN plan_policy varchar(20) NOT NULL DEFAULT 'ALWAYS',
        ADD COLUMN plan_files integer NOT NULL DEFAULT 0;
      ALTER TABLE harness_run
        ADD COLUMN plan_policy varchar(20) NOT NULL DEFAULT 'ALWAYS',
        ADD COLUMN plan_files integer NOT NULL DEFAULT 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_run DROP COLUMN plan_policy, DROP COLUMN plan_files;
      ALTER TABLE harness_session DROP COLUMN plan_policy, DROP COLUMN plan_files;
      DROP INDEX harness_event_of_user, harness_event_unnumbered;
      ALTER TABLE harness_event DROP COLUMN user_id, DROP COLUMN user_sequence;
      DROP TABLE harness_stream;
    `);
  }
}
