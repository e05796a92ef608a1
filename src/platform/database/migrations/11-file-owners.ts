import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Files that are parts of other records, which say who may read them. */
export class FileOwners1763683200011 implements MigrationInterface {
  name = 'FileOwners1763683200011';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE stored_file ADD COLUMN belongs_to varchar(30)');
    await runner.query('CREATE INDEX attachment_file ON attachment (oss_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX attachment_file');
    await runner.query('ALTER TABLE stored_file DROP COLUMN belongs_to');
  }
}
