import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Metadata of documents, and the filter by it that an agent has. */
export class DocumentMetadata1763683200028 implements MigrationInterface {
  name = 'DocumentMetadata1763683200028';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE attachment ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
      CREATE INDEX attachment_metadata ON attachment USING gin (metadata jsonb_path_ops);
      COMMENT ON COLUMN attachment.metadata IS
        'A date is an object of its text and its milliseconds since the epoch';
      ALTER TABLE agent ADD COLUMN filter jsonb;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent DROP COLUMN filter;
      ALTER TABLE attachment DROP COLUMN metadata;
    `);
  }
}
