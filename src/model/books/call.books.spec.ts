import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { TRYING } from '../../../test/support/upstream-calls.js';
import { Attempt } from '../calls/attempt.js';
import type { ResolvedModel } from '../model.resolver.js';
import { CallBooks } from './call.books.js';
import type { CallEntry } from './call.entry.js';

/** As the driver reports a text with a character that PostgreSQL has none of. */
const invalid = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const model: ResolvedModel = {
  id: 1,
  tenantId: '000000',
  revision: 1,
  modelName: 'm',
  label: 'm',
  category: 'chat',
  providerCode: 'custom_api',
  connection: { address: '' },
};

let dataDir: string;
/** What the database has, by id, and what it does with a statement. */
let stored: Map<string, CallEntry>;
let refuse: (entries: readonly CallEntry[]) => Error | undefined;
let statements: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-books-'));
  stored = new Map();
  refuse = () => undefined;
  statements = 0;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function books(): CallBooks {
  const repository = {
    add: (entries: readonly CallEntry[]): Promise<void> => {
      statements += 1;
      const error = refuse(entries);
      if (error) return Promise.reject(error);
      for (const entry of entries) stored.set(entry.id, entry);
      return Promise.resolve();
    },
  };
  const metrics = { gauge: () => undefined };
  return new CallBooks({ DATA_DIR: dataDir } as never, repository as never, metrics as never);
}

function enter(to: CallBooks, calls: number): void {
  for (let number = 1; number <= calls; number += 1) {
    const attempt = new Attempt({
      use: TRYING,
      kind: 'chat',
      asked: 'm',
      model,
      number,
      sentTokens: () => 1,
    });
    attempt.end('whole');
    to.enter(attempt);
  }
}

it('writes many entries in few statements', async () => {
  const own = books();
  enter(own, 1_200);
  await own.flush();
  expect(stored.size).toBe(1_200);
  expect(statements).toBe(3);
});

it('writes what waited once the database is back', async () => {
  const own = books();
  refuse = () => outage;
  enter(own, 700);
  await own.flush();
  expect(stored.size).toBe(0);
  refuse = () => undefined;
  enter(own, 1);
  await own.flush();
  expect(stored.size).toBe(701);
});

it('leaves out the entry that the database refuses, and no other', async () => {
  const own = books();
  enter(own, 100);
  refuse = (entries) => (entries.some(({ attempt }) => attempt === 42) ? invalid : undefined);
  await own.flush();
  expect(stored.size).toBe(99);
  expect([...stored.values()].some(({ attempt }) => attempt === 42)).toBe(false);
});

it('writes the entry of a limited call at once and by itself, and with the others after an outage', async () => {
  const own = books();
  const reservation = '018f6a2e-0000-7000-8000-000000000000';
  const limited = (): Attempt => {
    const start = { use: TRYING, kind: 'chat', asked: 'm', model, number: 1 } as const;
    const attempt = new Attempt({ ...start, sentTokens: () => 1, reservation });
    attempt.end('whole');
    return attempt;
  };
  const settling = own.settle(limited());
  expect(own.isSettling).toBe(true);
  await settling;
  expect(own.isSettling).toBe(false);
  expect(stored.get(reservation)).toMatchObject({ limited: true });
  expect(statements).toBe(1);
  stored.clear();
  refuse = () => outage;
  await own.settle(limited());
  refuse = () => undefined;
  await own.flush();
  expect(stored.get(reservation)).toMatchObject({ limited: true });
});

it('keeps too many entries, and those of a stop, in files that the next process writes', async () => {
  const first = books();
  refuse = () => outage;
  enter(first, 11_000);
  await first.flush();
  await first.onApplicationShutdown();
  refuse = () => undefined;
  const next = books();
  await next.flush();
  await next.flush();
  expect(stored.size).toBe(11_000);
});
