import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { EventRetention } from '../../../src/harness/engine/event.retention.js';
import { EventReader } from '../../support/event-reader.js';
import { complete, deltas, ownRun, upTo } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
import type { RunEvent } from '../../support/harness-stream.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';

const FIELDS = [
  'schemaVersion',
  'eventId',
  'sessionId',
  'runId',
  'sequence',
  'timestamp',
  'type',
  'stepId',
  'toolCallId',
  'approvalId',
  'data',
];

let plinth: Plinth;
let admin: Session;
let user: Person;
let other: Person;
let stranger: Session;

beforeAll(async () => {
  plinth = await Plinth.start({ HARNESS_RETENTION_DAYS: '30' });
  admin = await plinth.signIn();
  const role = await makeRole(admin, 'coder', ['coding:harness:use']);
  user = await makeUser(plinth, admin, 'coder-1', [role]);
  other = await makeUser(plinth, admin, 'coder-2', [role]);
  ({ admin: stranger } = await makeTenant(plinth, admin, '700070'));
});

afterAll(() => plinth.stop());

function list(run: OwnRun, query = '', by = user.session): Promise<Answer<RunEvent[]>> {
  return by.get<RunEvent[]>(`${run.stream.replace('/stream', '')}${query}`);
}

async function finished(events: number): Promise<OwnRun> {
  const run = await ownRun(plinth, user.session);
  await run.ledger.append(run.lease, deltas(events, String));
  await complete(run);
  return run;
}

describe('the events of a run', () => {
  it('are numbered without gaps though four writers write at once', async () => {
    const run = await ownRun(plinth, user.session);
    const { ledger, lease } = run;
    const { tenantId, runId } = lease;
    const writer = async (name: number): Promise<void> => {
      for (let turn = 0; turn < 25; turn += 1) {
        const texts = deltas(1 + (turn % 3), (number) => `${name}.${turn}.${number}`);
        if (name % 2 === 0) await ledger.append(lease, texts);
        else await ledger.updateRun(tenantId, runId, (writing) => writing.events(texts));
      }
    };
    await Promise.all([0, 1, 2, 3].map(writer));

    const { data } = done(await list(run, '?limit=10000'));
    expect(data.map(({ sequence }) => sequence)).toEqual(upTo(4 * 49));
    expect(new Set(data.map((event) => event.data['delta'])).size).toBe(4 * 49);
    for (const name of [0, 1, 2, 3]) {
      const own = data
        .map((event) => String(event.data['delta']))
        .filter((text) => text.startsWith(`${name}.`));
      expect(own).toEqual([...own].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    }
  });

  it('have exactly the fields of the contract, the same ones in list and stream', async () => {
    const run = await ownRun(plinth, user.session);
    const subject = { stepId: 'step-1', toolCallId: run.sessionId, approvalId: run.runId };
    const text = 'Zeile\r\nzwei \u2028 "quoted" \\ 💥 {"a": 1}';
    const before = Date.now();
    await run.ledger.asOwner(run.lease, (writer) => {
      writer.event('assistant.text.delta', { effectId: 'effect', delta: text });
      writer.event('tool.started', started(text), subject);
    });
    await complete(run);

    const { data } = done(await list(run));
    const reader = await EventReader.open(user.session, run.stream);
    await reader.end();
    expect(reader.events).toEqual(data);
    expect(data.map((event) => Object.keys(event))).toEqual(data.map(() => FIELDS));
    const [plain, tool, end] = data;
    expect(plain).toMatchObject({
      schemaVersion: 1,
      eventId: `${run.runId}-1`,
      sessionId: run.sessionId,
      runId: run.runId,
      sequence: 1,
      stepId: null,
      toolCallId: null,
      approvalId: null,
      data: { effectId: 'effect', delta: text },
    });
    expect(tool).toMatchObject({ ...subject, type: 'tool.started', data: started(text) });
    expect(end).toMatchObject({ type: 'run.completed', data: { stopReason: 'END_TURN' } });
    for (const { timestamp } of data) {
      expect(Number.isInteger(timestamp)).toBe(true);
      expect(Math.abs(timestamp - before)).toBeLessThan(60_000);
    }
  });

  it('are listed in pages', async () => {
    const run = await finished(2_500);
    const numbers = async (query: string): Promise<number[]> =>
      done(await list(run, query)).data.map(({ sequence }) => sequence);
    expect(await numbers('')).toEqual(upTo(1_000));
    expect(await numbers('?afterSequence=2498')).toEqual([2_499, 2_500, 2_501]);
    expect(await numbers('?afterSequence=7&limit=2')).toEqual([8, 9]);
    expect(await numbers('?limit=10000')).toEqual(upTo(2_501));
    expect(await numbers('?afterSequence=2501')).toEqual([]);
    for (const query of ['?limit=0', '?limit=10001', '?limit=x', '?afterSequence=-1']) {
      expect(await list(run, query)).toMatchObject({ code: 400 });
    }
  });

  it('come in smaller pages when they are large, and none is left out', async () => {
    const run = await ownRun(plinth, user.session);
    const large = 'x'.repeat(2 ** 20);
    for (let number = 0; number < 20; number += 1) {
      await run.ledger.append(
        run.lease,
        deltas(1, () => large),
      );
    }
    await complete(run);

    const { data } = done(await list(run));
    expect(data.map(({ sequence }) => sequence)).toEqual(upTo(16));
    expect(done(await list(run, '?afterSequence=16')).data).toHaveLength(5);
    const reader = await EventReader.open(user.session, run.stream);
    await reader.end();
    expect(reader.sequences).toEqual(upTo(21));
    expect(reader.text).toHaveLength(20 * 2 ** 20);
  });

  it('are those of a user of the own tenant, and nobody else sees that they exist', async () => {
    const run = await finished(1);
    for (const by of [other.session, stranger]) {
      const hidden = { code: 404, data: { errorCode: 'SESSION_NOT_FOUND' } };
      expect(await list(run, '', by)).toMatchObject(hidden);
      expect(await by.get(run.stream)).toMatchObject(hidden);
    }
    expect(await plinth.anonymous().get(run.stream)).toMatchObject({ code: 401 });
    expect(done(await list(run, '', admin)).data).toHaveLength(2);
    const foreign = await ownRun(plinth, other.session);
    const mixed = run.stream.replace(run.sessionId, foreign.sessionId);
    expect(await user.session.get(mixed)).toMatchObject({ code: 404 });
    const powerless = await makeUser(plinth, admin, `powerless-${Date.now()}`);
    expect(await powerless.session.get(run.stream)).toMatchObject({ code: 403 });
    for (const odd of ['nothing', '1', '%20', '00000000-0000-0000-0000-000000000000']) {
      const path = run.stream.replace(run.runId, odd);
      expect(await user.session.get(path)).toMatchObject({ code: 404 });
    }
  });
});

describe('old events', () => {
  async function endedDaysAgo(run: OwnRun, days: number): Promise<void> {
    await plinth.app
      .get(Database)
      .query(
        `UPDATE harness_run SET ended_at = now() - make_interval(days => $3) WHERE tenant_id = $1 AND id = $2`,
        [run.lease.tenantId, run.runId, days],
      );
  }

  it('are removed a run at a time, and the run stays', async () => {
    const [old, young] = [await finished(30), await finished(30)];
    const live = await ownRun(plinth, user.session);
    await live.ledger.append(live.lease, deltas(3, String));
    await endedDaysAgo(old, 31);
    await endedDaysAgo(young, 29);

    expect(await plinth.app.get(EventRetention, { strict: false }).prune()).toBe(31);

    expect(done(await list(old)).data).toEqual([]);
    expect(done(await list(young)).data).toHaveLength(31);
    expect(done(await list(live)).data).toHaveLength(3);
    for (const query of ['', '?afterSequence=5']) {
      const answer = await user.session.raw('GET', `${old.stream}${query}`);
      expect(answer).toMatchObject({ status: 204, text: '' });
    }
    const detail = old.stream.replace('/events/stream', '');
    expect(await user.session.get(detail)).toMatchObject({ code: 200, data: { runId: old.runId } });
    expect(await plinth.app.get(EventRetention, { strict: false }).prune()).toBe(0);
  });

  it('are removed from many runs', async () => {
    for (let count = 0; count < 101; count += 1) await finished(1);
    await plinth.app
      .get(Database)
      .query(
        `UPDATE harness_run SET ended_at = now() - interval '40 days' WHERE ended_at > now() - interval '1 hour'`,
      );
    expect(await plinth.app.get(EventRetention, { strict: false }).prune()).toBeGreaterThan(200);
    expect(await plinth.app.get(EventRetention, { strict: false }).prune()).toBe(0);
  });
});

function started(
  text: string,
): Record<'toolName' | 'title' | 'effectClass' | 'argumentsJson', string> {
  return { toolName: 'read_file', title: text, effectClass: 'READ', argumentsJson: '{}' };
}
