import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What becomes of a key's calls of tools that ask a person. */
export class ToolConsentOfKeys2026122500001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE api_key ADD COLUMN tool_consent varchar(10) NOT NULL DEFAULT 'refuse'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN tool_consent');
  }
}
