import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The traces of answers and runs, and whether those of a tenant have its content. */
export class Traces2026121100001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE tenant ADD COLUMN trace_content boolean NOT NULL DEFAULT false;
      ALTER TABLE chat_message ADD COLUMN trace_id varchar(32);
      ALTER TABLE harness_run ADD COLUMN traceparent varchar(55);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_run DROP COLUMN traceparent;
      ALTER TABLE chat_message DROP COLUMN trace_id;
      ALTER TABLE tenant DROP COLUMN trace_content;
    `);
  }
}
