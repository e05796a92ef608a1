import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { UsageLedger } from './usage.ledger.js';
import type { UsageEntry } from './usage.entry.js';

/** As the driver reports a text with a character that PostgreSQL has none of. */
const invalid = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const entry: UsageEntry = {
  id: '018f6a2e-0000-7000-8000-000000000000',
  tenant_id: '000000',
  call_time: new Date(0).toISOString(),
  user_id: 1,
  api_key_id: null,
  door: 'rest',
  feature: 'test',
  agent_id: null,
  asked_model: 'm',
  model_id: 1,
  model_name: 'm',
  provider_code: 'custom_api',
  kind: 'chat',
  attempt: 1,
  outcome: 'ok',
  estimated: true,
  input_tokens: 1,
  output_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cache_write_tokens: 0,
  cache_write_hour_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
  web_searches: 0,
  code_runs: 0,
  service_tier: null,
  service_cost: null,
  service_currency: null,
  images: 0,
  seconds: 0,
  characters: 0,
  price_version: null,
  first_token_ms: null,
  duration_ms: 1,
};

let dataDir: string;
/** What the database has, by id, and what it does with a statement. */
let stored: Map<string, UsageEntry>;
let refuse: (entries: readonly UsageEntry[]) => Error | undefined;
let statements: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-usage-'));
  stored = new Map();
  refuse = () => undefined;
  statements = 0;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function ledger(): UsageLedger {
  const repository = {
    add: (entries: readonly UsageEntry[]): Promise<void> => {
      statements += 1;
      const error = refuse(entries);
      if (error) return Promise.reject(error);
      for (const entry of entries) stored.set(entry.id, entry);
      return Promise.resolve();
    },
  };
  const metrics = { gauge: () => undefined };
  return new UsageLedger({ DATA_DIR: dataDir } as never, repository as never, metrics as never);
}

function enter(to: UsageLedger, calls: number): void {
  for (let attempt = 1; attempt <= calls; attempt += 1) {
    to.enter({ ...entry, id: randomUUID(), attempt });
  }
}

it('writes many entries in few statements', async () => {
  const usage = ledger();
  enter(usage, 1_200);
  await usage.flush();
  expect(stored.size).toBe(1_200);
  expect(statements).toBe(3);
});

it('writes what waited once the database is back', async () => {
  const usage = ledger();
  refuse = () => outage;
  enter(usage, 700);
  await usage.flush();
  expect(stored.size).toBe(0);
  refuse = () => undefined;
  enter(usage, 1);
  await usage.flush();
  expect(stored.size).toBe(701);
});

it('leaves out the entry that the database refuses, and no other', async () => {
  const usage = ledger();
  enter(usage, 100);
  refuse = (entries) => (entries.some(({ attempt }) => attempt === 42) ? invalid : undefined);
  await usage.flush();
  expect(stored.size).toBe(99);
  expect([...stored.values()].some(({ attempt }) => attempt === 42)).toBe(false);
});

it('writes the entry of a limited call at once and by itself, and with the others after an outage', async () => {
  const usage = ledger();
  const limited: UsageEntry = { ...entry, limited: true };
  const settling = usage.settle(limited);
  expect(usage.isSettling).toBe(true);
  await settling;
  expect(usage.isSettling).toBe(false);
  expect(stored.get(entry.id)).toMatchObject({ limited: true });
  expect(statements).toBe(1);
  stored.clear();
  refuse = () => outage;
  await usage.settle(limited);
  refuse = () => undefined;
  await usage.flush();
  expect(stored.get(entry.id)).toMatchObject({ limited: true });
});

it('keeps too many entries, and those of a stop, in files that the next process writes', async () => {
  const first = ledger();
  refuse = () => outage;
  enter(first, 11_000);
  await first.flush();
  await first.onApplicationShutdown();
  refuse = () => undefined;
  const next = ledger();
  await next.flush();
  await next.flush();
  expect(stored.size).toBe(11_000);
});
