import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FolderImport, importReport, planReport } from './attach/index.js';
import { runCommand, UsageError } from './command.js';
import { inTenant } from './platform/database/index.js';
import { UserCallers } from './identity/index.js';
import { ProgressLine } from './import-progress.js';
import { KnowledgeService } from './knowledge/index.js';

const USAGE = `Imports the files of a folder as documents of a knowledge base, and waits until they are parsed.

  npm run knowledge:import -- --knowledge ID --path FOLDER [--tenant 000000] [--user admin] [--dry-run]

Repeat it to import new and changed files. See docs/OPERATIONS.md.`;

interface Arguments {
  readonly knowledgeId: number;
  readonly path: string;
  readonly tenantId: string;
  readonly userName: string;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
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
    signal: stopOnSignals(),
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

/** Aborts at the first signal, which ends the import in order; the second one ends the process. */
function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort());
  }
  return controller.signal;
}

async function importInto(
  app: NestExpressApplication,
  { tenantId, userName, knowledgeId, path, dryRun, signal }: Arguments,
): Promise<number> {
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
}

function explanationOf(error: unknown): string | undefined {
  if (error instanceof Error && error.name === 'AbortError') {
    return 'Interrupted. Stored documents are kept; run the command again to continue.';
  }
  return isMissingPath(error) ? `The folder cannot be read: ${error.message}` : undefined;
}

function isMissingPath(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && error.syscall === 'scandir';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.exit(
  await runCommand({
    verb: 'import',
    read: readArguments,
    // The worker role parses the stored documents.
    onServer: { ROLE: 'worker' },
    run: importInto,
    explain: explanationOf,
  }),
);
