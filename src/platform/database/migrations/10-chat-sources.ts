import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an answer was grounded in. */
export class ChatSources1763683200010 implements MigrationInterface {
  name = 'ChatSources1763683200010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE chat_message ADD COLUMN sources jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE chat_message DROP COLUMN sources');
  }
}
