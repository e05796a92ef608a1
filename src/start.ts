import { ConfigError, loadConfig } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';

/**
 * Runs Plinth in this process until a signal ends it: with ROLE=worker only the jobs, otherwise the HTTP server as well.
 * Exit codes: 2 for an invalid configuration, 1 for any other failure, 0 after a stop.
 */
export async function start(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  let config: Config | undefined;
  try {
    config = loadConfig(environment);
    // The service is loaded only with a valid configuration, so that a mistake is reported at once and not seconds later.
    const { run } = await import('./run.js');
    await run(config);
  } catch (error) {
    process.stderr.write(`${await explanationOf(error, config)}\n`);
    process.exit(error instanceof ConfigError ? 2 : 1);
  }
}

async function explanationOf(error: unknown, config: Config | undefined): Promise<string> {
  if (error instanceof ConfigError) return error.explanation;
  const { startFailure } = await import('./platform/observability/index.js');
  return startFailure(error, config);
}
