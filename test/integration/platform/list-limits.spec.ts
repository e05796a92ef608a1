import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

/** Rows of one answer at most, as docs/WIRE.md says. */
const MOST = 1_000;
const STORED = 42_000;
const SESSION = 2_500;

describe('lists of many rows', () => {
  let plinth: Plinth;
  let admin: Session;
  let database: Database;
  let session: string;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    database = plinth.app.get(Database);
    session = done(await admin.post<string>('/system/session', { sessionTitle: 'Long' })).data;
    const { user } = done(
      await admin.get<{ user: { userId: number } }>('/system/user/getInfo'),
    ).data;
    await database.query(
      `INSERT INTO chat_message (tenant_id, user_id, session_id, role, content)
       SELECT '000000', $1, CASE WHEN n <= $2 THEN $3::bigint END, 'user', n || repeat(' text', CASE WHEN n > 41000 THEN 200 ELSE 1 END)
         FROM generate_series(1, $4::integer) AS n`,
      [user.userId, SESSION, session, STORED],
    );
    await database.query(
      `INSERT INTO audit_entry (tenant_id, action, target_type, detail)
       SELECT '000000', 'update', 'many', '{}' FROM generate_series(1, 2200)`,
    );
  });

  afterAll(() => plinth.stop());

  function numbers(rows: readonly unknown[]): number[] {
    return rows.map((row) => Number.parseInt((row as { content: string }).content, 10));
  }

  function range(from: number, to: number): number[] {
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  }

  it('answer a part of the rows and count all of them', async () => {
    const answers = await Promise.all(range(1, 6).map(() => admin.get('/system/message/list')));
    for (const answer of answers) {
      expect(done(answer).total).toBe(STORED);
      expect(answer.rows).toHaveLength(MOST);
    }
    const audit = done(await admin.get('/monitor/audit/list?targetType=many'));
    expect([audit.rows.length, audit.total]).toEqual([MOST, 2_200]);
  });

  it('have pages of that size where no smaller one is asked for', async () => {
    const page = async (query: string) =>
      done(await admin.get<{ id: number }[]>(`/monitor/audit/list?targetType=many&${query}`));
    const pages = [await page('pageNum=1'), await page('pageNum=2'), await page('pageNum=3')];
    expect(pages.map(({ rows }) => rows.length)).toEqual([MOST, MOST, 200]);
    expect(new Set(pages.flatMap(({ rows }) => rows.map(({ id }) => id))).size).toBe(2_200);

    const large = await page('pageSize=2147483647');
    expect([large.rows.length, large.total]).toEqual([MOST, 2_200]);
    const next = await page('pageSize=2000&pageNum=3');
    expect(next.rows).toEqual(pages[2]?.rows);
    expect((await page('pageSize=3')).rows).toEqual(pages[0]?.rows.slice(0, 3));
  });

  it('show the newest messages of a session to a client that asks for all, oldest first', async () => {
    const { rows, total } = done(await admin.get(`/system/message/list?sessionId=${session}`));
    expect(total).toBe(SESSION);
    expect(numbers(rows)).toEqual(range(SESSION - MOST + 1, SESSION));

    const first = done(await admin.get(`/system/message/list?sessionId=${session}&pageNum=1`));
    expect(numbers(first.rows)).toEqual(range(1, MOST));
  });

  it('are written in parts that the client puts together to the same text', async () => {
    const { rows } = done(await admin.get('/system/message/list?pageNum=1'));
    expect(rows.length).toBe(MOST);
    const { text, headers } = await admin.raw('GET', '/system/message/list?pageNum=1');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(text.length).toBeGreaterThan(4 * 256 * 1_024);
    expect(JSON.parse(text)).toEqual({ code: 200, msg: 'Done.', total: STORED, rows });
    const small = await admin.raw('GET', '/system/message/list?pageSize=1');
    expect(small.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(small.text)).toEqual({
      code: 200,
      msg: 'Done.',
      total: STORED,
      rows: rows.slice(0, 1),
    });
  });

  it('say so in the OpenAPI document', async () => {
    const { text } = await admin.raw('GET', '/docs/json');
    const document = JSON.parse(text) as {
      paths: Record<string, { get?: { parameters?: { name: string; description?: string }[] } }>;
    };
    const sizes = Object.entries(document.paths).flatMap(([path, { get }]) =>
      // The harness and the Gemini interface have pages of their own.
      /^\/(coding\/harness|v1beta)\//.test(path)
        ? []
        : (get?.parameters ?? []).filter(({ name }) => name === 'pageSize'),
    );
    expect(sizes.length).toBeGreaterThan(18);
    expect(new Set(sizes.map(({ description }) => description))).toEqual(
      new Set(['Rows per page; 1000 when absent or larger. total counts all rows']),
    );
  });
});
