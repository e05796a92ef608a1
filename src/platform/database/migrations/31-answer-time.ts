import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The answers of a tenant by time, for the report of use. */
export class AnswerTime1763683200031 implements MigrationInterface {
  name = 'AnswerTime1763683200031';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX chat_message_answer_time ON chat_message (tenant_id, create_time) WHERE role = 'assistant'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX chat_message_answer_time');
  }
}
