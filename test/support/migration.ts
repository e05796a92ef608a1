import type { QueryRunner } from 'typeorm';
import { acrossTenants } from '../../src/platform/database/index.js';
import type { Database } from '../../src/platform/database/index.js';
import { withoutRecording } from './statement-recorder.js';

/**
 * Runs a step of a migration, for all tenants and without looking at its statements. Its connection is released at once:
 * the embedded store has no other, and requests would wait for it.
 */
export async function migrating(
  database: Database,
  step: (runner: QueryRunner) => Promise<void>,
): Promise<void> {
  const runner = database.dataSource.createQueryRunner();
  try {
    await withoutRecording(() => acrossTenants('a migration', () => step(runner)));
  } finally {
    await runner.release();
  }
}
