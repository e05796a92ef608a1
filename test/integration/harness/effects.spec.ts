import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { CALLS, ParkedRuns } from '../../support/parked-runs.js';
import type { ParkedCall, ParkedRun } from '../../support/parked-runs.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { DONE, FREE } from '../../support/scripted-model.js';
import type { Answer, Session } from '../../support/session.js';

const TENANT = '000000';

interface Effect {
  readonly toolCallId: string;
  readonly state: string;
  readonly resolution: string | null;
  readonly note: string | null;
  readonly [field: string]: unknown;
}

let harness: Harness;
let parked: ParkedRuns;
let person: Person;
const live: ParkedRun[] = [];

beforeAll(async () => {
  harness = await startHarness();
  parked = new ParkedRuns(harness.plinth);
  const { plinth, session } = harness;
  const permissions = ['coding:harness:use', 'coding:harness:write'];
  person = await makeUser(plinth, session, 'person', [
    await makeRole(session, 'person', permissions),
  ]);
});

afterAll(() => harness.stop());

afterEach(async () => {
  for (const run of live.splice(0)) await harness.post(run, '/cancel');
});

async function suspended(calls?: readonly ParkedCall[]): Promise<ParkedRun> {
  const { sessionId } = await harness.createSession();
  const run = await parked.uncertain(sessionId, calls);
  live.push(run);
  return run;
}

function resolve(
  run: ParkedRun,
  toolCallId = run.toolCallIds[0] ?? '',
  { by = harness.session, ...body }: { by?: Session; resolution?: string; note?: string } = {},
): Promise<Answer<Effect>> {
  const path = harness.path(run, `/effects/${toolCallId}/resolution`);
  return by.post<Effect>(path, { resolution: 'EXECUTED', ...body });
}

async function effectsOf(run: ParkedRun): Promise<Effect[]> {
  return done(await harness.session.get<Effect[]>(harness.path(run, '/effects'))).data;
}

async function typesOf(run: ParkedRun): Promise<string[]> {
  return (await harness.events(run)).map(({ type }) => type);
}

async function resultsOf(run: ParkedRun): Promise<Record<string, unknown>[]> {
  return (await harness.messages(run)).filter(({ role }) => role === 'TOOL');
}

describe('the effects of a run', () => {
  it('are listed with what is known of them', async () => {
    const run = await suspended([CALLS.SHELL, CALLS.EDIT]);
    expect(await effectsOf(run)).toMatchObject([
      {
        toolCallId: run.toolCallIds[0],
        runId: run.runId,
        toolName: 'shell',
        effectClass: 'SHELL',
        state: 'UNCERTAIN',
        iteration: 1,
        argumentsJson: '{"command":"npm test"}',
        argumentsSha256: expect.stringMatching(/^[\da-f]{64}$/),
        operations: [],
        exitCode: null,
        artifactId: null,
        resolution: null,
        startedAt: expect.any(Number),
        endedAt: null,
      },
      { toolCallId: run.toolCallIds[1], toolName: 'write_file', effectClass: 'FILE' },
    ]);
    expect(await harness.run(run)).toMatchObject({
      status: 'SUSPENDED',
      error: { code: 'uncertain_tool_effect' },
    });
  });

  it('come in pages, in the order in which the model asked for them', async () => {
    const run = await suspended([CALLS.SHELL, CALLS.EDIT, CALLS.SHELL]);
    const [first = '', second = '', third = ''] = run.toolCallIds;
    const pageOf = async (query: string): Promise<readonly [string[], boolean]> => {
      const path = harness.path(run, `/effects?${query}`);
      const answer = done(await harness.session.get<Effect[]>(path));
      const { data, more } = answer as typeof answer & { readonly more: boolean };
      return [data.map(({ toolCallId }) => toolCallId), more];
    };
    expect(await pageOf('')).toEqual([[first, second, third], false]);
    expect(await pageOf('limit=2')).toEqual([[first, second], true]);
    expect(await pageOf('limit=3')).toEqual([[first, second, third], false]);
    const afterSecond = `afterToolCallId=${second.toUpperCase()}`;
    expect(await pageOf(`limit=2&${afterSecond}`)).toEqual([[third], false]);
    expect(await pageOf(`afterToolCallId=${third}`)).toEqual([[], false]);
    done(await resolve(run, first));
    expect(await pageOf('state=UNCERTAIN&limit=1')).toEqual([[second], true]);
    expect(await pageOf(`state=UNCERTAIN&limit=1&${afterSecond}`)).toEqual([[third], false]);

    await harness.plinth.app.get(Database).query(
      `UPDATE harness_effect SET arguments_json = '"' || repeat('x', 9000000) || '"'
          WHERE tenant_id = $1 AND tool_call_id = ANY($2)`,
      [TENANT, [first, second]],
    );
    expect(await pageOf('')).toEqual([[first], true]);
    expect(await pageOf(`afterToolCallId=${first}`)).toEqual([[second, third], false]);
  });

  it.each([
    ['limit=0', 400],
    ['limit=1001', 400],
    ['state=LOST', 400],
    ['afterToolCallId=1', 400],
    ['afterToolCallId=00000000-0000-7000-8000-000000000000', 404],
  ])('are not listed with %s', async (query, code) => {
    const run = await suspended();
    const answer = await harness.session.get(harness.path(run, `/effects?${query}`));
    expect(answer).toMatchObject({ code });
  });

  it('are nobody else’s', async () => {
    const run = await suspended();
    expect(await person.session.get(harness.path(run, '/effects'))).toMatchObject({ code: 404 });
    expect(await resolve(run, undefined, { by: person.session })).toMatchObject({ code: 403 });
  });
});

describe('an outcome that is stored without its message', () => {
  it('gets the message that it lacks, once, and is not uncertain', async () => {
    const { sessionId } = await harness.createSession(FREE);
    const run = await parked.lost(sessionId, [CALLS.SHELL]);
    const [toolCallId] = run.toolCallIds;
    await harness.plinth.app.get(Database).query(
      `UPDATE harness_effect SET state = 'SUCCEEDED', result = 'stored', exit_code = 0
        WHERE tenant_id = $1 AND tool_call_id = $2`,
      [TENANT, toolCallId],
    );
    expect(await resultsOf(run)).toEqual([]);
    harness.simulator.reset();
    harness.script(DONE);
    await parked.takeUp(TENANT, run);

    const ended = await harness.waitFor(run, 'COMPLETED', 'FAILED', 'SUSPENDED');
    expect(ended).toMatchObject({ status: 'COMPLETED' });
    const result = { toolCallId, toolName: 'shell', content: 'stored', toolError: false };
    expect(await resultsOf(run)).toMatchObject([result]);
    expect(await effectsOf(run)).toMatchObject([{ state: 'SUCCEEDED', resolution: null }]);
    const events = (await harness.events(run)).filter((event) => event.toolCallId === toolCallId);
    expect(events).toMatchObject([
      {
        type: 'tool.completed',
        data: { status: 'SUCCEEDED', error: false, exitCode: 0, output: 'stored' },
      },
    ]);
  });
});

describe('a resolution', () => {
  it.each([
    ['EXECUTED', 'SUCCEEDED', false, 'it was executed'],
    ['NOT_EXECUTED', 'NOT_EXECUTED', true, 'it was not executed'],
  ])('as %s gives the call its result and lets the run go on', async (...row) => {
    const [resolution, state, toolError, text] = row;
    const run = await suspended();
    const [toolCallId] = run.toolCallIds;
    const note = 'The log ends after 3 tests.';
    const answer = await resolve(run, toolCallId, { resolution, note });
    expect(answer).toMatchObject({
      code: 200,
      data: { toolCallId, state, resolution, note, resolvedBy: expect.any(Number) },
    });
    const [result] = await resultsOf(run);
    expect(result).toMatchObject({ toolCallId, toolName: 'shell', toolError });
    expect(result?.['content']).toContain(text);
    expect(result?.['content']).toContain(note);
    const events = await harness.events(run);
    const at = events.findIndex(({ type }) => type === 'effect.resolved');
    expect(events.slice(at, at + 3)).toMatchObject([
      {
        toolCallId,
        stepId: 'step-1',
        data: { toolName: 'shell', resolution, by: expect.any(Number), note },
      },
      { type: 'tool.completed', toolCallId, data: { error: toolError, status: state } },
      { type: 'run.queued', data: { reason: 'effects_resolved' } },
    ]);
    expect((await harness.run(run)).status).not.toBe('SUSPENDED');
    expect((await harness.run(run)).error?.code).not.toBe('uncertain_tool_effect');
  });

  it('of a change of files that was made counts among the changes of the run', async () => {
    const content = Buffer.from('export {};\n');
    const blobs = harness.plinth.app.get(BlobStore);
    const sha256 = await blobs.put('000000', content);
    const after = { sha256, size: content.length, mode: 0o644 };
    const made = {
      path: 'src/new.js',
      op: 'CREATE',
      before: null,
      after,
      restorable: true,
    } as const;
    const call = { ...CALLS.EDIT, operations: [made] };
    harness.write({ 'src/new.js': content });
    const [yes, no] = [await suspended([call]), await suspended([call])];
    expect(await effectsOf(yes)).toMatchObject([
      {
        operations: [{ path: 'src/new.js', op: 'CREATE', beforeSha256: null, afterSha256: sha256 }],
      },
    ]);
    done(await resolve(yes));
    done(await resolve(no, undefined, { resolution: 'NOT_EXECUTED' }));
    const changed = (await harness.events(yes)).find(({ type }) => type === 'file.changed');
    expect(changed).toMatchObject({
      toolCallId: yes.toolCallIds[0],
      data: { path: 'src/new.js', op: 'CREATE', additions: 1 },
    });
    expect(await typesOf(no)).not.toContain('file.changed');
  });

  it('of one of two keeps the run suspended', async () => {
    const run = await suspended([CALLS.SHELL, CALLS.EDIT]);
    const [first, second] = run.toolCallIds;
    done(await resolve(run, second, { resolution: 'NOT_EXECUTED' }));
    expect(await harness.run(run)).toMatchObject({ status: 'SUSPENDED' });
    expect(await harness.post(run, '/resume')).toMatchObject({ code: 409 });
    done(await resolve(run, first));
    expect(await typesOf(run)).toContain('run.queued');
    expect((await resultsOf(run)).map(({ toolCallId }) => toolCallId)).toEqual([second, first]);
  });

  it('sent again is answered alike; another one is refused', async () => {
    const run = await suspended();
    done(await resolve(run, undefined, { note: 'Seen.' }));
    expect(await resolve(run)).toMatchObject({ code: 200, data: { note: 'Seen.' } });
    expect(await resolve(run, undefined, { resolution: 'NOT_EXECUTED' })).toMatchObject({
      code: 409,
      data: { errorCode: 'EFFECT_NOT_UNCERTAIN', state: 'SUCCEEDED', resolution: 'EXECUTED' },
    });
    expect((await typesOf(run)).filter((type) => type === 'effect.resolved')).toHaveLength(1);
    expect(await resultsOf(run)).toHaveLength(1);
  });

  it('is refused for a call whose outcome is known, or that has not begun', async () => {
    const { sessionId } = await harness.createSession();
    const run = await parked.tool(sessionId, [CALLS.EDIT, CALLS.SHELL]);
    live.push(run);
    const [first = '', second = ''] = run.toolCallIds;
    await parked.settle('000000', run, first);
    for (const [toolCallId, state] of [
      [first, 'SUCCEEDED'],
      [second, 'PREPARED'],
    ]) {
      expect(await resolve(run, toolCallId)).toMatchObject({
        code: 409,
        data: { errorCode: 'EFFECT_NOT_UNCERTAIN', state },
      });
    }
    expect(await harness.run(run)).toMatchObject({ status: 'WAITING_FOR_APPROVAL' });
  });

  it('of a run that has ended only changes the record, and is told', async () => {
    const run = await suspended();
    done(await harness.post(run, '/cancel'));
    const events = await typesOf(run);
    const results = await resultsOf(run);
    expect(await effectsOf(run)).toMatchObject([{ state: 'UNCERTAIN' }]);
    expect(results).toHaveLength(1);
    expect(await resolve(run, undefined, { resolution: 'NOT_EXECUTED' })).toMatchObject({
      code: 200,
      data: { state: 'NOT_EXECUTED' },
    });
    expect(await typesOf(run)).toEqual([...events, 'effect.resolved']);
    expect(await resultsOf(run)).toEqual(results);
    expect(await harness.run(run)).toMatchObject({ status: 'CANCELLED' });
  });

  it('is the first one of ten at once, and no other', async () => {
    const run = await suspended();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        resolve(run, undefined, {
          resolution: at % 2 ? 'EXECUTED' : 'NOT_EXECUTED',
          note: `${at}`,
        }),
      ),
    );
    expect(answers.map(({ code }) => code).sort()).toEqual([
      200, 200, 200, 200, 200, 409, 409, 409, 409, 409,
    ]);
    expect((await typesOf(run)).filter((type) => type === 'effect.resolved')).toHaveLength(1);
    expect(await resultsOf(run)).toHaveLength(1);
  });

  it('races with a cancel, and every call has one result', async () => {
    for (let round = 0; round < 5; round += 1) {
      const run = await suspended();
      await Promise.all([resolve(run), harness.post(run, '/cancel')]);
      await harness.ended(run);
      expect(await resultsOf(run)).toHaveLength(1);
      expect(await effectsOf(run)).toMatchObject([{ state: 'SUCCEEDED', resolution: 'EXECUTED' }]);
    }
  });

  it.each([
    ['no resolution', { resolution: undefined }],
    ['an unknown resolution', { resolution: 'MAYBE' }],
    ['a long note', { note: 'x'.repeat(4_001) }],
  ])('with %s is refused', async (_, over) => {
    const run = await suspended();
    const path = harness.path(run, `/effects/${run.toolCallIds[0] ?? ''}/resolution`);
    const answer = await harness.session.post(path, { resolution: 'EXECUTED', ...over });
    expect(answer).toMatchObject({ code: 400 });
    expect(await effectsOf(run)).toMatchObject([{ state: 'UNCERTAIN' }]);
  });

  it('needs the permission, and a call of this run', async () => {
    const { sessionId } = await harness.createSession({}, person.session);
    const run = await parked.uncertain(sessionId);
    live.push(run);
    const refused = await resolve(run, undefined, { by: person.session });
    expect(refused).toMatchObject({ code: 403 });
    const other = await suspended();
    expect(await resolve(other, run.toolCallIds[0])).toMatchObject({ code: 404 });
    const unknown = await resolve(run, 'nothing');
    expect(unknown).toMatchObject({ code: 404 });
    expect(unknown.msg).toMatch(/^The tool call was not found\./);
  });

  it('is audited', async () => {
    const run = await suspended();
    done(await resolve(run));
    const rows = await harness.plinth.app
      .get(Database)
      .query(
        "SELECT detail FROM audit_entry WHERE target_type = 'harness_effect' AND target_id = $1",
        [run.toolCallIds[0]],
      );
    expect(rows).toEqual([{ detail: { resolution: 'EXECUTED', runId: run.runId } }]);
  });
});
