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
    // A process of the release before, which may still run, stores runs without a model: they have that of their session.
    await runner.query(`
      CREATE FUNCTION harness_run_model() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.model_name IS NULL THEN
          SELECT s.model_name INTO NEW.model_name FROM harness_session s
            WHERE s.tenant_id = NEW.tenant_id AND s.id = NEW.session_id;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER harness_run_model BEFORE INSERT ON harness_run
        FOR EACH ROW EXECUTE FUNCTION harness_run_model();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER harness_run_model ON harness_run;
      DROP FUNCTION harness_run_model();
      ALTER TABLE harness_run DROP COLUMN model_name;
      ALTER TABLE harness_approval DROP COLUMN preview, DROP COLUMN model_description;
    `);
  }
}
