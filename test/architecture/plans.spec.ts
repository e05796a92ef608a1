import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Database } from '../../src/platform/database/index.js';
import { Metrics } from '../../src/platform/observability/index.js';
import { IntervalJob } from '../../src/platform/queue/index.js';
import { fillDatabase, LARGE_TABLES, listAddresses } from '../support/filled-database.js';
import type { ApiDescription } from '../support/filled-database.js';
import { makeUser, roleId } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import { allStatementsOf } from '../support/statement-recorder.js';
import type { Session } from '../support/session.js';

/** So many rows that a look into an index is cheaper than reading the table, and a tenant has a twentieth of them. */
const SIZES = {
  tenants: 20,
  usersPerTenant: 50,
  basesPerTenant: 25,
  documentsPerBase: 8,
  messagesPerUser: 20,
  callsPerUser: 10,
};

/** Statements that read a table whole, by a part of their text, with the reason. */
const READ_WHOLE: readonly (readonly [table: string, text: string, reason: string])[] = [
  [
    'login_session',
    'DELETE FROM login_session',
    'once an hour; an index of the last activity would be written with each activity',
  ],
];

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The large tables that the plan reads whole. */
function readWhole(node: PlanNode): string[] {
  const table = node['Relation Name'] ?? '';
  const isWhole = node['Node Type'] === 'Seq Scan' && LARGE_TABLES.includes(table);
  return [...(isWhole ? [table] : []), ...(node.Plans ?? []).flatMap(readWhole)];
}

describe('the plans of statements on a filled database', () => {
  let plinth: Plinth;
  let database: Database;
  const timers: (() => void)[] = [];

  beforeAll(async () => {
    const { setInterval } = globalThis;
    const spy = jest.spyOn(globalThis, 'setInterval').mockImplementation(((
      work: () => void,
      ...more: [number]
    ) => {
      timers.push(work);
      return setInterval(work, ...more);
    }) as typeof setInterval);
    plinth = await Plinth.start();
    spy.mockRestore();
    database = plinth.app.get(Database);
    await fillDatabase((sql) => database.query(sql), SIZES);
  });
  afterAll(() => plinth.stop());

  async function expectIndexes(work: () => Promise<unknown>): Promise<void> {
    const statements = await allStatementsOf(work);
    const findings: string[] = [];
    for (const { sql, values } of statements) {
      if (!/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)\b/i.test(sql)) continue;
      const [row] = await database.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `EXPLAIN (FORMAT JSON) ${sql}`,
        values,
      );
      const tables = row ? row['QUERY PLAN'].flatMap(({ Plan }) => readWhole(Plan)) : [];
      for (const table of new Set(tables)) {
        const isAllowed = READ_WHOLE.some(([one, text]) => one === table && sql.includes(text));
        if (!isAllowed) findings.push(`${table}: ${sql}`);
      }
    }
    expect(statements.length).toBeGreaterThan(5);
    expect(findings).toEqual([]);
  }

  it('reads no large table whole for a list', async () => {
    const root = await plinth.signIn();
    const { text } = await root.raw('GET', '/docs/json');
    const addresses = await listAddresses(JSON.parse(text) as ApiDescription, (sql) =>
      database.query(sql),
    );
    const { session } = await makeUser(plinth, root, 'reader', [await roleId(root, 'admin')]);
    await expectIndexes(async () => {
      for (const caller of [root, session]) await readAll(caller, addresses);
    });
  });

  async function readAll(caller: Session, addresses: readonly string[]): Promise<void> {
    for (const address of addresses) {
      const { status } = await caller.raw('GET', address);
      expect([address, status < 500]).toEqual([address, true]);
    }
  }

  it('reads no large table whole for a scrape of the metrics', async () => {
    const metrics = plinth.app.get(Metrics);
    await expectIndexes(() => metrics.text());
  });

  it('reads no large table whole for the work of each interval', async () => {
    const runs: Promise<unknown>[] = [];
    const { runNow } = IntervalJob.prototype;
    const spy = jest.spyOn(IntervalJob.prototype, 'runNow').mockImplementation(function (
      this: IntervalJob,
    ) {
      runNow.call(this);
      runs.push(Promise.resolve(Reflect.get(this, 'running')));
    });
    await expectIndexes(async () => {
      for (const run of timers) run();
      await Promise.all(runs);
    });
    spy.mockRestore();
    expect(runs.length).toBeGreaterThan(5);
  });
});
