import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Chats that no list shows and that are removed within a day, and whether a tenant allows or enforces them. */
export class TemporaryChats2026120300002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE tenant ADD COLUMN temporary_chats varchar(10) NOT NULL DEFAULT 'allowed';
      COMMENT ON COLUMN tenant.temporary_chats IS 'allowed, enforced or forbidden';
      ALTER TABLE chat_session ADD COLUMN temporary boolean NOT NULL DEFAULT false;
      CREATE INDEX chat_session_temporary ON chat_session (tenant_id, user_id, id) WHERE temporary;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_session DROP COLUMN temporary;
      ALTER TABLE tenant DROP COLUMN temporary_chats;
    `);
  }
}
