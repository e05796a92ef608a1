import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The prefix in Qdrant of each installation, and one-time values that all processes see. */
export class StoreOwnership1763683200065 implements MigrationInterface {
  name = 'StoreOwnership1763683200065';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE installation ADD COLUMN vector_prefix varchar(64);
      UPDATE installation SET vector_prefix = 'plinth' WHERE database IS NOT NULL;
      COMMENT ON COLUMN installation.vector_prefix IS
        'Prefix of the collections in Qdrant unless QDRANT_PREFIX is set; NULL before the first start';
      CREATE TABLE one_time_value (
        key varchar(300) PRIMARY KEY,
        value text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX one_time_value_expires_at ON one_time_value (expires_at);
      COMMENT ON TABLE one_time_value IS
        'Short-lived values of sign-ins that are read once, where there is no Redis';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE one_time_value;
      ALTER TABLE installation DROP COLUMN vector_prefix;
    `);
  }
}
