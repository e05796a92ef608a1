import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { passwordLine } from './announcement.js';
import { createApp } from './app.js';
import { FolderImport, importReport, planReport } from './attach/index.js';
import { ConfigError, loadConfig } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { DirectoryInUseError, inTenant } from './platform/database/index.js';
import { DomainError } from './platform/error/index.js';
import { IdentitySeed, UserCallers } from './identity/index.js';
import { ProgressLine } from './import-progress.js';
import { KnowledgeService } from './knowledge/index.js';
import { startFailure } from './platform/observability/index.js';

const USAGE = `Imports the files of a folder as documents of a knowledge base, and waits until they are parsed.

  npm run knowledge:import -- --knowledge ID --path FOLDER [--tenant 000000] [--user admin] [--dry-run]

Repeat it to import new and changed files. See docs/OPERATIONS.md.`;

interface Arguments {
  readonly knowledgeId: number;
  readonly path: string;
  readonly tenantId: string;
  readonly userName: string;
  readonly dryRun: boolean;
}

/** Invalid arguments, or an unknown user. */
class UsageError extends Error {}

/** Exit codes: 0 when everything is parsed, 1 after a failure, 2 for invalid arguments or configuration. */
async function main(): Promise<number> {
  let config: Config | undefined;
  try {
    const given = readArguments();
    config = loadConfig(environment());
    return await importInto(config, given, stopOnSignals());
  } catch (error) {
    process.stderr.write(`${explanationOf(error, config)}\n`);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

function readArguments(): Arguments {
  const { knowledge, path, tenant, user, 'dry-run': dryRun } = parsedArguments();
  if (knowledge === undefined || path === undefined) throw new UsageError(USAGE);
  if (!/^[1-9]\d{0,15}$/.test(knowledge)) {
    throw new UsageError(`--knowledge ${knowledge} is not the id of a knowledge base.\n\n${USAGE}`);
  }
  return {
    knowledgeId: Number(knowledge),
    // npm runs scripts in the folder of the package, not in the current one.
    path: resolve(process.env['INIT_CWD'] ?? '.', path),
    tenantId: tenant,
    userName: user,
    dryRun,
  };
}

function parsedArguments() {
  try {
    return parseArgs({
      options: {
        knowledge: { type: 'string' },
        path: { type: 'string' },
        tenant: { type: 'string', default: '000000' },
        user: { type: 'string', default: 'admin' },
        'dry-run': { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${messageOf(error)}\n\n${USAGE}`);
  }
}

/** The environment of the service; this process parses what it stores, and has no HTTP server. */
function environment(): Record<string, string | undefined> {
  const onServer = (process.env['DATABASE_URL'] ?? '').trim() !== '';
  const quiet = { LOG_LEVEL: 'warn', LOG_FORMAT: 'text' };
  return { ...quiet, ...process.env, ROLE: onServer ? 'worker' : 'all' };
}

/** Aborts at the first signal, which ends the import in order; the second one ends the process. */
function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort());
  }
  return controller.signal;
}

async function importInto(config: Config, given: Arguments, signal: AbortSignal): Promise<number> {
  const log = { write: (line: string) => void process.stderr.write(line) };
  const app = await createApp(config, { log });
  try {
    await app.init();
    const login = app.get(IdentitySeed).takeInitialLogin();
    if (login) process.stderr.write(`${passwordLine(login)}\n`);
    const { tenantId, userName, knowledgeId, path, dryRun } = given;
    const caller = await app.get(UserCallers).named(userName, tenantId, tenantId);
    if (!caller) {
      throw new UsageError(
        `Tenant ${tenantId} has no enabled user ${userName}. Set --tenant and --user.`,
      );
    }
    const progress = new ProgressLine();
    const { plan, result } = await inTenant(tenantId, async () => {
      const knowledge = await app.get(KnowledgeService).writable(caller, knowledgeId);
      const folders = app.get(FolderImport);
      const run = { caller, knowledge, signal, report: progress.show };
      const plan = await folders.plan(run, path);
      return { plan, result: dryRun ? undefined : await folders.run(run, plan) };
    });
    progress.end();
    process.stdout.write(`${result ? importReport(plan, result) : planReport(plan)}\n`);
    return result && result.failed.length > 0 ? 1 : 0;
  } finally {
    await app.close();
  }
}

function explanationOf(error: unknown, config: Config | undefined): string {
  if (error instanceof DirectoryInUseError) {
    return (
      `Plinth is running on ${config?.DATA_DIR ?? 'this folder'}, and the embedded database serves one process. ` +
      'Stop the service, import, and start it again; or run both with DATABASE_URL.'
    );
  }
  if (error instanceof UsageError || error instanceof DomainError) return error.message;
  if (error instanceof Error && error.name === 'AbortError') {
    return 'Interrupted. Stored documents are kept; run the command again to continue.';
  }
  if (isMissingPath(error)) return `The folder cannot be read: ${error.message}`;
  return startFailure(error, config);
}

function isMissingPath(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && error.syscall === 'scandir';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.exit(await main());
