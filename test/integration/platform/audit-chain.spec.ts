import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { AuditChain, AuditLog } from '../../../src/platform/audit/index.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { RetentionSweep } from '../../../src/platform/retention/index.js';
import { done, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Verification {
  readonly checkedCount: number;
  readonly number: number;
  readonly digest: string;
  readonly nextAfter: number | null;
  readonly problems: readonly { kind: string; number: number | null; entryId: number | null }[];
}

interface Receiver {
  readonly url: string;
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[];
  /** Answers of the next requests; 200 with an empty body after them. */
  readonly answers: { readonly status: number; readonly body?: string }[];
  close(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  const requests: Receiver['requests'] = [];
  const answers: Receiver['answers'] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ headers: request.headers, body });
      const { status, body: answer = '' } = answers.shift() ?? { status: 200 };
      response.writeHead(status).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/audit`, requests, answers, close };
}

function query<Row>(plinth: Plinth, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  return plinth.app.get(Database).query<Row>(sql, values);
}

/** Changes entries as an attacker with the rights of the service in the database does. */
async function tamper(plinth: Plinth, sql: string, values: readonly unknown[] = []): Promise<void> {
  const database = plinth.app.get(Database);
  await database.transaction(async () => {
    await database.query("SET LOCAL plinth.erasing = 'on'");
    await database.query(sql, values);
  });
}

async function record(plinth: Plinth, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, index) => ({
    ...{ action: 'update' as const, target: 'sample', id: index, detail: { b: index, a: 'ä' } },
  }));
  await inTenant('000000', () =>
    plinth.app.get(AuditLog).recordAll({ tenantId: '000000', userName: 'someone' }, entries),
  );
}

/** A service whose entries are linked and exported when a test asks for it alone. */
async function startWithoutRounds(settings: Record<string, string> = {}): Promise<Plinth> {
  const plinth = await Plinth.start(settings);
  await plinth.app.get(AuditChain).beforeApplicationShutdown();
  return plinth;
}

describe('the chain', () => {
  let plinth: Plinth;
  let admin: Session;

  beforeAll(async () => {
    plinth = await startWithoutRounds();
    admin = await plinth.signIn();
  });

  afterAll(() => plinth.stop());

  /** Verifies, undoes the change, and expects that the chain is intact then. */
  async function verify(after?: number): Promise<Verification> {
    const path = `/monitor/audit/verify${after === undefined ? '' : `?after=${after}`}`;
    return done(await admin.get<Verification>(path)).data;
  }

  async function idOf(number: number): Promise<number> {
    const [row] = await query<{ id: number }>(
      plinth,
      "SELECT entry_id AS id FROM audit_link WHERE tenant_id = '000000' AND number = $1",
      [number],
    );
    return row?.id ?? 0;
  }

  it('has every entry once, also those that were written at the same time', async () => {
    await Promise.all([1, 2, 3, 4].map(() => record(plinth, 300)));
    await Promise.all([verify(), verify(), plinth.app.get(AuditChain).round()]);
    const [counts] = await query<{ entries: number; links: number }>(
      plinth,
      `SELECT (SELECT count(*)::int FROM audit_entry WHERE tenant_id = '000000') AS entries,
              (SELECT count(*)::int FROM audit_link WHERE tenant_id = '000000') AS links`,
    );
    expect(counts?.entries).toBeGreaterThan(1_200);
    expect(counts?.links).toBe(counts?.entries);
    const whole = await verify();
    expect(whole).toMatchObject({ checkedCount: counts?.links, nextAfter: null, problems: [] });
    expect(await verify(1_000)).toMatchObject({
      ...{ checkedCount: whole.checkedCount - 1_000, digest: whole.digest, problems: [] },
    });
  });

  it('links an entry that commits late after those with higher ids', async () => {
    const database = plinth.app.get(Database);
    if (!process.env['DATABASE_URL']) return;
    let commit = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const late = inTenant('000000', () =>
      database.transaction(async () => {
        await plinth.app
          .get(AuditLog)
          .record({ tenantId: '000000' }, { action: 'create', target: 'late' });
        await waiting;
      }),
    );
    await record(plinth, 1);
    await verify();
    commit();
    await late;
    expect((await verify()).problems).toEqual([]);
    const [row] = await query<{ isLast: boolean }>(
      plinth,
      `SELECT l.number = (SELECT max(number) FROM audit_link WHERE tenant_id = '000000') AS "isLast"
         FROM audit_link l JOIN audit_entry e ON e.id = l.entry_id WHERE e.target_type = 'late'`,
    );
    expect(row?.isLast).toBe(true);
  });

  it('tells of a changed entry, whatever was changed', async () => {
    await record(plinth, 5);
    const { number } = await verify();
    const id = await idOf(number - 2);
    for (const [column, value] of [
      ...[['action', "'delete'"] as const, ['target_id', "'99'"] as const],
      ...[['detail', `'{"a": "b"}'::jsonb`] as const, ['actor_name', "'other'"] as const],
      ...[['ip', "'10.0.0.1'"] as const, ['actor_id', '7'] as const],
      ...[['create_time', "create_time + interval '1 microsecond'"] as const],
    ]) {
      const before = await query(
        plinth,
        `SELECT ${column}::text AS value FROM audit_entry WHERE id = $1`,
        [id],
      );
      await tamper(plinth, `UPDATE audit_entry SET ${column} = ${value} WHERE id = $1`, [id]);
      expect([column, (await verify()).problems]).toEqual([
        column,
        [{ kind: 'changed', number: number - 2, entryId: id }],
      ]);
      const type = { detail: 'jsonb', actor_id: 'bigint', create_time: 'timestamptz' }[
        column as string
      ];
      await tamper(
        plinth,
        `UPDATE audit_entry SET ${column} = $2::text::${type ?? 'varchar'} WHERE id = $1`,
        [id, (before[0] as { value: string | null }).value],
      );
    }
    expect((await verify()).problems).toEqual([]);
  });

  it('tells of a removed entry, in the middle and at the end, with and without its link', async () => {
    await record(plinth, 6);
    const { number } = await verify();
    const rows =
      'id, tenant_id, actor_id, actor_name, action, target_type, target_id, detail, ip, request_id, create_time';
    await query(plinth, `CREATE TABLE stolen AS SELECT ${rows} FROM audit_entry`);
    await query(plinth, 'CREATE TABLE stolen_link AS SELECT * FROM audit_link');
    const restore = async (): Promise<void> => {
      await query(
        plinth,
        `INSERT INTO audit_entry (${rows}) SELECT ${rows} FROM stolen s
          WHERE NOT EXISTS (SELECT FROM audit_entry e WHERE e.id = s.id)`,
      );
      await query(
        plinth,
        'INSERT INTO audit_link SELECT * FROM stolen_link ON CONFLICT DO NOTHING',
      );
    };
    const middle = await idOf(number - 3);
    await tamper(plinth, 'DELETE FROM audit_entry WHERE id = $1', [middle]);
    expect((await verify()).problems).toEqual([
      { kind: 'removed', number: number - 3, entryId: middle },
    ]);
    await query(plinth, 'DELETE FROM audit_link WHERE entry_id = $1', [middle]);
    expect((await verify()).problems).toMatchObject([
      { kind: 'removed', number: number - 3 },
      { kind: 'changed', number: number - 2 },
    ]);
    await restore();
    const last = await idOf(number);
    await tamper(plinth, 'DELETE FROM audit_entry WHERE id = $1', [last]);
    await query(plinth, 'DELETE FROM audit_link WHERE entry_id = $1', [last]);
    expect((await verify()).problems).toEqual([{ kind: 'removed', number, entryId: null }]);
    await restore();
    expect((await verify()).problems).toEqual([]);
    await query(plinth, 'DROP TABLE stolen, stolen_link');
  });

  it('tells of an inserted entry that is dated back', async () => {
    const { number } = await verify();
    await query(
      plinth,
      `INSERT INTO audit_entry (tenant_id, action, target_type, create_time)
       VALUES ('000000', 'login', 'user', now() - interval '3 days')`,
    );
    expect((await verify()).problems).toMatchObject([{ kind: 'inserted', number: number + 1 }]);
    await tamper(
      plinth,
      "UPDATE audit_entry SET create_time = now() WHERE create_time < now() - interval '1 day'",
    );
    expect((await verify()).problems).toMatchObject([{ kind: 'changed', number: number + 1 }]);
  });

  it('holds when a user is erased, and is cut by retention', async () => {
    const other = await startWithoutRounds();
    try {
      const boss = await other.signIn();
      const path = '/monitor/audit/verify';
      const check = async (): Promise<Verification> =>
        done(await boss.get<Verification>(path)).data;
      const anna = await makeUser(other, boss, 'anna');
      done(await anna.session.put('/system/user/profile', { nickName: 'Anna' }));
      const before = await check();
      done(await boss.delete(`/system/user/${anna.id}`));
      const names = await query(other, "SELECT 1 FROM audit_entry WHERE actor_name = 'anna'");
      expect(names).toEqual([]);
      expect((await check()).problems).toEqual([]);

      await record(other, 10);
      const { number } = await check();
      expect(number).toBeGreaterThan(before.number + 10);
      await tamper(
        other,
        "UPDATE audit_entry SET create_time = create_time - interval '181 days' WHERE target_type <> 'sample'",
      );
      // The entries were aged, so their links are made again.
      await query(other, 'DELETE FROM audit_link');
      await query(other, 'DELETE FROM audit_chain');
      const aged = await check();
      expect(aged.problems).toEqual([]);
      done(await boss.put('/system/retention', { rules: [{ recordClass: 'audit', days: 180 }] }));
      await other.app.get(RetentionSweep).sweep();
      const cut = await check();
      expect(cut).toMatchObject({ problems: [] });
      expect(cut.checkedCount).toBeLessThan(aged.checkedCount);
      expect(cut.number).toBeGreaterThan(aged.number);
      const [old] = await query<{ count: number }>(
        other,
        "SELECT count(*)::int AS count FROM audit_entry WHERE create_time < now() - interval '180 days'",
      );
      expect(old?.count).toBe(0);
      await tamper(
        other,
        "DELETE FROM audit_entry WHERE target_type = 'sample' AND target_id = '0'",
      );
      expect((await check()).problems).toMatchObject([{ kind: 'removed' }]);
    } finally {
      await other.stop();
    }
  });
});

describe('the export', () => {
  let receiver: Receiver;
  let plinth: Plinth;

  beforeEach(async () => {
    receiver = await startReceiver();
  });

  afterEach(async () => {
    await plinth.stop();
    await receiver.close();
  });

  function start(settings: Record<string, string>): Promise<Plinth> {
    return startWithoutRounds({
      ...{ AUDIT_EXPORT: receiver.url, AUDIT_EXPORT_HEADER: 'X-Token: secret-of-siem' },
      ...settings,
    });
  }

  function targets(documents: readonly { targetType: string; targetId: string }[]): string[] {
    return documents.flatMap(({ targetType, targetId }) =>
      targetType === 'sample' ? targetId : [],
    );
  }

  interface Line {
    readonly targetType: string;
    readonly targetId: string;
    readonly number: number;
    readonly tenantId: string;
    readonly digest: string;
  }

  function linesOf<Form = Line>(body: string): Form[] {
    return body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Form);
  }

  it('sends JSON Lines in order, at least once, also when the receiver fails and comes back', async () => {
    plinth = await start({});
    const chain = plinth.app.get(AuditChain);
    await chain.round();
    receiver.requests.length = 0;
    await record(plinth, 1_200);
    receiver.answers.push({ status: 200 }, { status: 503, body: 'overloaded' });
    await chain.round();
    expect(receiver.requests).toHaveLength(2);
    await chain.round();
    const lines = receiver.requests.flatMap(({ body }, index) =>
      index === 1 ? [] : linesOf(body),
    );
    expect(targets(lines)).toEqual(Array.from({ length: 1_200 }, (_, index) => String(index)));
    const numbers = lines.map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(receiver.requests[0]?.headers).toMatchObject({
      ...{ 'x-token': 'secret-of-siem', 'content-type': 'application/x-ndjson' },
    });
    receiver.requests.length = 0;
    await chain.round();
    expect(receiver.requests).toEqual([]);
    const admin = await plinth.signIn();
    const { data } = done(await admin.get<Verification>('/monitor/audit/verify'));
    await chain.round();
    const exported = receiver.requests.flatMap(({ body }) => linesOf(body));
    expect(exported.find(({ number }) => number === data.number)?.digest).toBe(data.digest);
  });

  it('does not keep entries from being written while the receiver is away', async () => {
    plinth = await start({ AUDIT_EXPORT: 'http://127.0.0.1:9/away' });
    await record(plinth, 3);
    await plinth.app.get(AuditChain).round();
    const admin = await plinth.signIn();
    expect(done(await admin.get<Verification>('/monitor/audit/verify')).data.problems).toEqual([]);
  });

  // docs.splunk.com, Format events for HTTP Event Collector, and HTTP Event Collector examples (2026-11-28): events of a batch
  // follow each other, time is in seconds.
  it('sends Splunk events one after the other', async () => {
    plinth = await start({
      ...{ AUDIT_EXPORT_FORMAT: 'splunk', AUDIT_EXPORT_HEADER: 'Authorization: Splunk abc' },
    });
    await record(plinth, 2);
    receiver.answers.push({ status: 200, body: '{"text":"Success","code":0}' });
    await plinth.app.get(AuditChain).round();
    const [request] = receiver.requests;
    expect(request?.headers.authorization).toBe('Splunk abc');
    const events = linesOf<{ time: number; event: Line }>(request?.body ?? '');
    expect(targets(events.map(({ event }) => event))).toEqual(['0', '1']);
    expect(events[0]?.time).toBeGreaterThan(Date.now() / 1_000 - 3_600);
  });

  // docs.datadoghq.com/api/latest/logs/send-logs (2026-11-28): at most 1,000 entries and 5 MB, answered with 202.
  it('sends Datadog a list', async () => {
    plinth = await start({
      AUDIT_EXPORT_FORMAT: 'datadog',
      AUDIT_EXPORT_HEADER: 'DD-API-KEY: abc',
    });
    await record(plinth, 2);
    receiver.answers.push({ status: 202, body: '{}' });
    await plinth.app.get(AuditChain).round();
    await plinth.app.get(AuditChain).round();
    expect(receiver.requests).toHaveLength(1);
    const [request] = receiver.requests;
    expect(request?.headers).toMatchObject({
      'dd-api-key': 'abc',
      'content-type': 'application/json',
    });
    const logs = JSON.parse(request?.body ?? '[]') as { message: string }[];
    expect(targets(logs.map(({ message }) => JSON.parse(message) as Line))).toEqual(['0', '1']);
  });

  // elastic.co/guide/en/elasticsearch/reference, Bulk API (2026-11-28): data streams take create alone, each item has a status, and
  // a document that is there already is a version conflict.
  it('reads from Elastic whether each document was taken, and takes one sent before as done', async () => {
    plinth = await start({
      AUDIT_EXPORT_FORMAT: 'elastic',
      AUDIT_EXPORT_HEADER: 'Authorization: ApiKey abc',
    });
    const chain = plinth.app.get(AuditChain);
    const errors: Readonly<Record<number, string>> = {
      400: 'document_parsing_exception',
      409: 'version_conflict_engine_exception',
    };
    const item = (status: number): object => {
      const error = errors[status] && { type: errors[status], reason: '[1]: refused' };
      return { create: { _index: 'audit', _id: '1', status, ...(error && { error }) } };
    };
    const answer = (...statuses: number[]): string =>
      JSON.stringify({
        took: 3,
        errors: statuses.some((status) => status >= 300),
        items: statuses.map(item),
      });
    await record(plinth, 1);
    receiver.answers.push({ status: 200, body: answer(201, 400) });
    await chain.round();
    receiver.answers.push({ status: 200, body: answer(409, 201) });
    await chain.round();
    await chain.round();
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.requests[0]?.body).toBe(receiver.requests[1]?.body);
    const [action, document] = linesOf<object>(receiver.requests[0]?.body ?? '');
    expect(action).toEqual({ create: { _id: '000000-1' } });
    expect(document).toMatchObject({
      tenantId: '000000',
      number: 1,
      '@timestamp': expect.any(String),
    });
  });

  it('writes to standard output', async () => {
    plinth = await start({ AUDIT_EXPORT: 'stdout' });
    await plinth.app.get(AuditChain).round();
    const written: string[] = [];
    const spy = jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      written.push(String(chunk));
      return true;
    });
    try {
      await record(plinth, 2);
      await plinth.app.get(AuditChain).round();
    } finally {
      spy.mockRestore();
    }
    const lines = written.filter((chunk) => chunk.startsWith('{"type":"audit"'));
    expect(targets(lines.flatMap((chunk) => linesOf(chunk)))).toEqual(['0', '1']);
  });

  it('keeps entries from retention until they are exported', async () => {
    plinth = await start({});
    await record(plinth, 3);
    receiver.answers.push(...Array.from({ length: 3 }, () => ({ status: 500 })));
    await tamper(plinth, "UPDATE audit_entry SET create_time = create_time - interval '200 days'");
    const admin = await plinth.signIn();
    done(await admin.put('/system/retention', { rules: [{ recordClass: 'audit', days: 180 }] }));
    const chain = plinth.app.get(AuditChain);
    const old = async (): Promise<number> =>
      (
        await query(
          plinth,
          "SELECT 1 FROM audit_entry WHERE create_time < now() - interval '180 days'",
        )
      ).length;
    await chain.round();
    await plinth.app.get(RetentionSweep).sweep();
    expect(await old()).toBeGreaterThanOrEqual(3);
    receiver.answers.length = 0;
    await chain.round();
    await plinth.app.get(RetentionSweep).sweep();
    expect(await old()).toBe(0);
  });
});
