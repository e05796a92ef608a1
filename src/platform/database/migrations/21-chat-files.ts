import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Files of chat messages: what a question was sent with, the text of small documents, and the knowledge base of a session
 * in which its large ones are searched.
 */
export class ChatFiles1763683200021 implements MigrationInterface {
  name = 'ChatFiles1763683200021';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_message ADD COLUMN files jsonb;
      CREATE INDEX chat_message_files ON chat_message (tenant_id, user_id, id) WHERE files IS NOT NULL;

      CREATE TABLE chat_file_text (
        file_id bigint PRIMARY KEY REFERENCES stored_file (id) ON DELETE CASCADE,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        content text NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX chat_file_text_tenant ON chat_file_text (tenant_id);

      ALTER TABLE knowledge_base ADD COLUMN session_id bigint REFERENCES chat_session (id) ON DELETE CASCADE;
      CREATE UNIQUE INDEX knowledge_base_session ON knowledge_base (session_id);
      COMMENT ON COLUMN knowledge_base.session_id IS 'The chat session whose files it holds; such a base is in no list';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    // Without its session the base of one would be an ordinary base.
    await runner.query(`
      DELETE FROM knowledge_base WHERE session_id IS NOT NULL;
      ALTER TABLE knowledge_base DROP COLUMN session_id;
      DROP TABLE chat_file_text;
      DROP INDEX chat_message_files;
      ALTER TABLE chat_message DROP COLUMN files;
    `);
  }
}
