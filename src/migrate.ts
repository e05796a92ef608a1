import { UsageError } from './command.js';
import { ConfigError, loadConfig } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { migrateServer } from './platform/database/index.js';
import { startFailure } from './platform/observability/index.js';

// Migrates the database of DATABASE_URL and ends: for a deployment that does so before its new processes start, which would
// otherwise do it themselves, one after the other.
let config: Config | undefined;
try {
  config = loadConfig(process.env);
  if (config.DATABASE_URL === undefined) {
    throw new UsageError(
      'DATABASE_URL is not set. The embedded database is migrated at the start.',
    );
  }
  await migrateServer(config.DATABASE_URL);
  process.stdout.write('The database has the schema of this release.\n');
} catch (error) {
  const text = error instanceof UsageError ? error.message : startFailure(error, config);
  process.stderr.write(`${text}\n`);
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}
