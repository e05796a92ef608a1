import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lists of readers of documents. Existing documents have none. */
export class Documents2026120500001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE attachment ADD COLUMN restricted boolean NOT NULL DEFAULT false;
      ALTER TABLE knowledge_base ADD COLUMN restricted boolean NOT NULL DEFAULT false;
      COMMENT ON COLUMN attachment.restricted IS
        'Whether it has a list of readers, rows of access_grant; it stays when all of those are deleted';
      COMMENT ON COLUMN knowledge_base.restricted IS 'Whether a document of it may be restricted';
      CREATE INDEX attachment_restricted ON attachment (tenant_id, knowledge_id) WHERE restricted;
      CREATE TRIGGER attachment_grants AFTER DELETE ON attachment
        FOR EACH ROW WHEN (OLD.restricted) EXECUTE FUNCTION remove_grants('resource', 'document');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER attachment_grants ON attachment;
      DELETE FROM access_grant WHERE resource_type = 'document';
      ALTER TABLE attachment DROP COLUMN restricted;
      ALTER TABLE knowledge_base DROP COLUMN restricted;
    `);
  }
}
