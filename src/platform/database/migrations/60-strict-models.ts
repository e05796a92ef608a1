import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether requests of a model are refused where it does not know one of their parameters. */
export class StrictModels1763683200060 implements MigrationInterface {
  name = 'StrictModels1763683200060';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE model ADD COLUMN strict_parameters boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN strict_parameters');
  }
}
