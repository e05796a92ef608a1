import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether requests with a key are refused where a model does not know one of their parameters. */
export class StrictParameters1763683200054 implements MigrationInterface {
  name = 'StrictParameters1763683200054';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE api_key ADD COLUMN strict_parameters boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN strict_parameters');
  }
}
