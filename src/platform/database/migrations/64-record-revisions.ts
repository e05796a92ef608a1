import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records that people edit in forms: a save can name the revision that its form was made from. */
const TABLES = ['knowledge_base', 'agent', 'model', 'provider', 'role', 'user_account'];

/** Counts the changes of records, so that a save does not overwrite one that its author has not seen. */
export class RecordRevisions1763683200064 implements MigrationInterface {
  name = 'RecordRevisions1763683200064';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN revision integer NOT NULL DEFAULT 1`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES) await runner.query(`ALTER TABLE ${table} DROP COLUMN revision`);
  }
}
