import type { NestExpressApplication } from '@nestjs/platform-express';
import { passwordLine } from './announcement.js';
import { createApp } from './app.js';
import { IdentitySeed } from './identity/index.js';
import { ConfigError, loadConfig } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { DirectoryInUseError } from './platform/database/index.js';
import { DependencyFault } from './platform/dependency/index.js';
import { DomainError } from './platform/error/index.js';
import { startFailure } from './platform/observability/index.js';

/** Invalid arguments, or an unknown user. */
export class UsageError extends Error {}

/** A program that an operator starts beside the service: the application without an HTTP server. */
export interface Command<Args> {
  /** The verb of the sentence "Stop the service, … and start it again". */
  readonly verb: string;
  /** Reads the arguments of the process. UsageError for those that cannot be used. */
  readonly read: () => Args;
  /** Variables that it sets where there is a server; the embedded database serves one process, which does everything. */
  readonly onServer: Readonly<Record<string, string>>;
  /** Variables that it sets in any case. */
  readonly always?: Readonly<Record<string, string>>;
  /** Returns the exit code. */
  readonly run: (app: NestExpressApplication, args: Args) => Promise<number>;
  /** Explains an error of this command; undefined for any other error. */
  readonly explain?: (error: unknown) => string | undefined;
}

/** Runs the command and returns its exit code: 1 after a failure, 2 for invalid arguments or configuration. Explains a failure on the standard error. */
export async function runCommand<Args>(command: Command<Args>): Promise<number> {
  let config: Config | undefined;
  try {
    const args = command.read();
    config = loadConfig(environmentOf(command));
    return await withApp(config, (app) => command.run(app, args));
  } catch (error) {
    process.stderr.write(`${explanationOf(error, command, config)}\n`);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

function environmentOf<Args>({
  onServer,
  always,
}: Command<Args>): Record<string, string | undefined> {
  const hasServer = ['DATABASE_URL', 'DATABASE_URL_FILE'].some((name) => process.env[name]?.trim());
  const quiet = { LOG_LEVEL: 'warn', LOG_FORMAT: 'text' };
  return { ...quiet, ...process.env, ...(hasServer ? onServer : { ROLE: 'all' }), ...always };
}

async function withApp<Result>(
  config: Config,
  work: (app: NestExpressApplication) => Promise<Result>,
): Promise<Result> {
  const log = { write: (line: string) => void process.stderr.write(line) };
  const app = await createApp(config, { log });
  try {
    await app.init();
    const login = app.get(IdentitySeed).takeInitialLogin();
    if (login) process.stderr.write(`${passwordLine(login)}\n`);
    return await work(app);
  } finally {
    await app.close();
  }
}

function explanationOf<Args>(
  error: unknown,
  { verb, explain }: Command<Args>,
  config: Config | undefined,
): string {
  if (error instanceof DirectoryInUseError) {
    return (
      `Plinth is running on ${config?.DATA_DIR ?? 'this folder'}, and the embedded database serves one process. ` +
      `Stop the service, ${verb}, and start it again; or run both with DATABASE_URL.`
    );
  }
  if (error instanceof DomainError && error.cause instanceof DependencyFault) {
    return error.cause.message;
  }
  if (error instanceof UsageError || error instanceof DomainError) return error.message;
  return explain?.(error) ?? startFailure(error, config);
}
