import { parseArgs } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runCommand, UsageError } from './command.js';
import { Artifacts } from './harness/index.js';
import { CONFIG, variables } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { Dependency } from './platform/dependency/index.js';
import { DiskStorage, FileStorage, ObjectStorage, StorageMove } from './platform/storage/index.js';

const USAGE = `Copies files between DATA_DIR and the object storage of STORAGE_URL, while the service runs.

  STORAGE_URL=s3://bucket/prefix npm run storage:move -- --to s3
  STORAGE_URL=s3://bucket/prefix npm run storage:move -- --to disk

It continues where it was stopped, checks every copy and deletes nothing. See docs/OPERATIONS.md, Object storage.`;

interface Arguments {
  readonly to: 's3' | 'disk';
  readonly address: NonNullable<Config['STORAGE_URL']>;
}

function readArguments(): Arguments {
  const url = process.env['STORAGE_URL']?.trim();
  const address = variables.STORAGE_URL.schema.safeParse(url || undefined);
  if (!address.success) {
    throw new UsageError(`STORAGE_URL ${address.error.issues[0]?.message}.\n\n${USAGE}`);
  }
  const to = direction();
  if (!to || !address.data) throw new UsageError(USAGE);
  return { to, address: address.data };
}

function direction(): 's3' | 'disk' | undefined {
  try {
    const { to } = parseArgs({ options: { to: { type: 'string' } } }).values;
    return to === 's3' || to === 'disk' ? to : undefined;
  } catch {
    return undefined;
  }
}

/** Aborts at the first signal, which ends the move in order; the second one ends the process. */
function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort());
  }
  return controller.signal;
}

async function move(app: NestExpressApplication, { to, address }: Arguments): Promise<number> {
  const config = app.get<Config>(CONFIG);
  const dependency = new Dependency('files');
  const bucket = await ObjectStorage.open(address, config.outbound, dependency);
  const target = to === 's3' ? bucket : new DiskStorage(config.DATA_DIR, dependency);
  const signal = stopOnSignals();
  try {
    const files = await app.get(StorageMove).run(target, signal, ({ copied, there, lost }) => {
      process.stderr.write(
        `Files: ${copied} copied, ${there} there already, ${lost.length} not found\n`,
      );
    });
    const contents = await app.get(Artifacts).move(bucket.objects, to, signal);
    const from = app.get(FileStorage).place;
    process.stdout.write(
      `From ${from} to ${target.place}:\n` +
        `${files.copied} files copied (${files.copiedBytes} bytes), ${files.there} there already, ${files.lost.length} not to be found.\n` +
        `${contents.copied} contents of the harness copied, ${contents.there} there already, ${contents.lost} not to be found.\n`,
    );
    if (files.lost.length > 0) {
      const ids = files.lost.slice(0, 100).join(', ');
      process.stdout.write(`Files without their content (ids): ${ids}\n`);
    }
    if (signal.aborted) process.stdout.write('Stopped. Run it again to continue.\n');
    return signal.aborted || files.lost.length > 0 ? 1 : 0;
  } finally {
    dependency.close();
    await bucket.onApplicationShutdown();
  }
}

process.exit(
  await runCommand<Arguments>({
    verb: 'move the files',
    read: readArguments,
    onServer: { ROLE: 'api' },
    // The source is the storage of this process, the target is opened beside it.
    always: { DEMO: 'off', ...(direction() === 's3' && { STORAGE_URL: '' }) },
    run: move,
  }),
);
