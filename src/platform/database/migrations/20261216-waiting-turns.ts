import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The request with which an answer goes on that waits for a decision of its user. */
export class WaitingTurns2026121600002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE chat_message ADD COLUMN request jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE chat_message DROP COLUMN request');
  }
}
