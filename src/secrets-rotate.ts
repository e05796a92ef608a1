import { parseArgs } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runCommand, UsageError } from './command.js';
import { CONFIG, keyId } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { SealedColumns } from './platform/database/index.js';
import type { SealedCount } from './platform/database/index.js';

const USAGE = `Encrypts with SECRET_KEY what SECRET_KEY_PREVIOUS has encrypted, while services run that know both.

  SECRET_KEY=new SECRET_KEY_PREVIOUS=old npm run secrets:rotate

It continues where it was stopped. See docs/SECURITY.md, Keys.`;

/** Unreadable secrets that are named; a lost key can leave thousands. */
const MAX_NAMED = 100;

function readArguments(): undefined {
  try {
    parseArgs({ options: {} });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

async function rotate(app: NestExpressApplication): Promise<number> {
  const { current, previous } = app.get<Config>(CONFIG).encryptionKeys;
  const [newId, oldId] = [keyId(current), previous && keyId(previous)];
  const columns = app.get(SealedColumns);
  print(...keyLines(await columns.counts(), newId, oldId));
  if (oldId === undefined || oldId === newId) {
    const others = await countOf(columns, (id) => id !== newId);
    if (others === 0) {
      print('Every secret is encrypted with SECRET_KEY.');
      return 0;
    }
    print(
      `Secrets that are encrypted with another key: ${others}. Set SECRET_KEY to the new key and SECRET_KEY_PREVIOUS to the old one.`,
    );
    return 1;
  }
  print(`Encrypted again: ${await columns.renew()}`);
  const lost = await nameUnreadable(columns, oldId);
  const remaining = await countOf(columns, (id) => id === oldId);
  if (remaining === 0) {
    print(
      'No secret needs SECRET_KEY_PREVIOUS. If every process runs with the new SECRET_KEY, remove it from the settings.',
    );
    return 0;
  }
  const reason =
    remaining > lost
      ? 'Processes still run with the old key as SECRET_KEY. Restart them with the new one, then run this again.'
      : 'It does not decrypt them. Enter them again or delete their records, then run this again.';
  print(
    `Keep SECRET_KEY_PREVIOUS. Secrets that are still encrypted with it: ${remaining}. ${reason}`,
  );
  return 1;
}

/** A line for each column and key. */
function keyLines(counts: readonly SealedCount[], newId: string, oldId?: string): string[] {
  const names = new Map([
    [oldId, 'SECRET_KEY_PREVIOUS'],
    [newId, 'SECRET_KEY'],
  ]);
  return counts.map(
    ({ table, column, keyId: id, count }) =>
      `${table}.${column}: ${count} with ${names.get(id) ?? 'a key that is not set'} (${id || 'no key id'})`,
  );
}

async function countOf(
  columns: SealedColumns,
  isCounted: (id: string) => boolean,
): Promise<number> {
  let sum = 0;
  for (const { keyId: id, count } of await columns.counts()) if (isCounted(id)) sum += count;
  return sum;
}

/** Names the secrets that neither key decrypts, which stay as they are. Returns how many of them have the id of the old key. */
async function nameUnreadable(columns: SealedColumns, oldId: string): Promise<number> {
  let total = 0;
  let ofOldKey = 0;
  for await (const { table, column, tenantId, key, sealed } of columns.unreadable()) {
    total += 1;
    if (sealed.startsWith(`v1.${oldId}.`)) ofOldKey += 1;
    if (total > MAX_NAMED) continue;
    const tenant = tenantId === null ? '' : `, tenant ${tenantId}`;
    print(`Neither key decrypts ${table}.${column} of ${key}${tenant}. It was left as it is.`);
  }
  if (total > MAX_NAMED) print(`Neither key decrypts ${total - MAX_NAMED} more.`);
  return ofOldKey;
}

function print(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

process.exit(
  await runCommand({
    verb: 'run the rotation',
    read: readArguments,
    onServer: { ROLE: 'api' },
    always: { DEMO: 'off' },
    run: rotate,
  }),
);
