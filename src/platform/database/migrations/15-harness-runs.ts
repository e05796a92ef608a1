import type { MigrationInterface, QueryRunner } from 'typeorm';
import { acrossTenants } from '../tenant-binding.js';

/** What an approval shows of the call that it is about, apart from the model's words; the model of a run. */
export class HarnessRuns1763683200015 implements MigrationInterface {
  name = 'HarnessRuns1763683200015';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_approval
        ADD COLUMN model_description text,
        ADD COLUMN preview jsonb NOT NULL
          DEFAULT '{"command": null, "files": [], "diff": null, "diffTruncated": false}';
      ALTER TABLE harness_run ADD COLUMN model_name varchar(200);
    `);
    await acrossTenants('model of earlier runs', () =>
      runner.query(`
        UPDATE harness_run r SET model_name = s.model_name
          FROM harness_session s WHERE s.tenant_id = r.tenant_id AND s.id = r.session_id`),
    );
    await runner.query('ALTER TABLE harness_run ALTER COLUMN model_name SET NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_run DROP COLUMN model_name;
      ALTER TABLE harness_approval DROP COLUMN preview, DROP COLUMN model_description;
    `);
  }
}
