import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What calls of a model have learned of its service. */
export class ModelFindings1763683200050 implements MigrationInterface {
  name = 'ModelFindings1763683200050';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN findings jsonb NOT NULL DEFAULT '{}';
      COMMENT ON COLUMN model.findings IS
        'Learned from calls: refused parameter to what is sent instead (empty: nothing), or a limit of the service';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN findings');
  }
}
