import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which files belong to this database, and which process stored each of them. */
export class Installation1763683200018 implements MigrationInterface {
  name = 'Installation1763683200018';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE installation (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        database varchar(100)
      );
      COMMENT ON COLUMN installation.database IS
        'The database in which the id was given; another value says that this one is a copy. NULL before the first start';
      INSERT INTO installation DEFAULT VALUES;
      ALTER TABLE stored_file ADD COLUMN stored_by varchar(200);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE stored_file DROP COLUMN stored_by');
    await runner.query('DROP TABLE installation');
  }
}
