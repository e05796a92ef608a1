import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables and their columns: the `revision` of a tenant counts changes of access. */
const COLUMNS = {
  tenant: 'record_revision',
  client: 'revision',
  dictionary_type: 'revision',
  dictionary_entry: 'revision',
  sso_provider: 'revision',
  api_key: 'revision',
};

/** Counts the changes of the records that were left out before (RecordRevisions). */
export class FurtherRevisions1763683200069 implements MigrationInterface {
  name = 'FurtherRevisions1763683200069';

  async up(runner: QueryRunner): Promise<void> {
    for (const [table, column] of Object.entries(COLUMNS)) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN ${column} integer NOT NULL DEFAULT 1`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table, column] of Object.entries(COLUMNS)) {
      await runner.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
    }
  }
}
