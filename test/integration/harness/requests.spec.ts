import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { pendingOf } from '../../support/approvals.js';
import { CODER, freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { createModel } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { routeTable } from '../../support/route-table.js';
import type { Answer } from '../../support/session.js';

const OTHER = 'other-coder';
let harness: Harness;
let reader: Person;

beforeAll(async () => {
  harness = await startHarness();
  const { plinth, session, simulator } = harness;
  const role = await makeRole(session, 'reader', ['coding:harness:use']);
  reader = await makeUser(plinth, session, 'reader', [role]);
  const fields = { apiHost: simulator.url, apiKey: 'simulated-key', contextWindow: 32_000 };
  await createModel(session, { ...fields, modelName: OTHER, supportsTools: true });
  await createModel(session, { ...fields, modelName: 'no-tools', supportsTools: false });
});

afterAll(() => harness.stop());

beforeEach(() => harness.simulator.reset());

const NAMES_OF_EVERY_OBJECT = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
];

interface Problem {
  readonly errorCode?: string;
  readonly fields?: readonly string[];
}

function begin(
  sessionId: string,
  over: Readonly<Record<string, unknown>>,
): Promise<Answer<RunView & Problem>> {
  const body = { requirement: 'Look', idempotencyKey: freshKey(), ...over };
  return harness.session.post(`/coding/harness/sessions/${sessionId}/runs`, body);
}

/** The names of the tools in the last request to the model, and its first message. */
function lastRequest(): { model: unknown; tools: string[]; system: string } {
  const { model, tools, messages } = z
    .object({
      model: z.string(),
      tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
      messages: z.array(z.object({ content: z.unknown() })),
    })
    .parse(harness.simulator.requests.at(-1)?.body);
  return {
    model,
    tools: tools.map((tool) => tool.function.name),
    system: JSON.stringify(messages[0]?.content),
  };
}

describe('a field that a request does not have', () => {
  it('is refused by its name on every route that changes something, with or without a body', async () => {
    const { app } = harness.plinth;
    const routes = routeTable(app).filter(
      ({ path, method }) => path.startsWith('/coding/harness/') && method !== 'GET',
    );
    expect(routes.filter(({ body }) => body !== undefined).length).toBeGreaterThanOrEqual(11);
    expect(routes.filter(({ body }) => body === undefined).length).toBeGreaterThanOrEqual(5);
    for (const { method, path, body } of routes) {
      const address = path.replaceAll(/:\w+/g, () => randomUUID());
      const answer = await harness.session.call<Problem>(method, address, { surprise: 1 });
      const known = body === undefined ? 'This request has no fields\\. ' : 'The fields are ';
      expect({ path, ...answer }).toMatchObject({
        code: 400,
        msg: expect.stringMatching(`^surprise: unknown here, so nothing was done\\. ${known}`),
        data: { errorCode: 'UNKNOWN_FIELD', fields: ['surprise'] },
      });
    }
  });

  it('is refused whatever it is called, at every level', async () => {
    const { sessionId } = await harness.createSession();
    const runs = `/coding/harness/sessions/${sessionId}/runs`;
    for (const name of NAMES_OF_EVERY_OBJECT) {
      const own = JSON.parse(
        `{${JSON.stringify(name)}: {"permissionMode": "READ_ONLY"}}`,
      ) as object;
      for (const [body, field] of [
        [own, name],
        [{ budget: own }, `budget.${name}`],
        [{ images: [own] }, `images.0.${name}`],
      ] as const) {
        const common = JSON.stringify({ requirement: 'Look', idempotencyKey: freshKey() });
        // As text, because a spread would lose some of the names.
        const sent = `${common.slice(0, -1)},${JSON.stringify(body).slice(1)}`;
        const answer = await harness.session.raw('POST', runs, sent);
        expect({ field, ...(JSON.parse(answer.text) as object) }).toMatchObject({
          code: 400,
          data: { errorCode: 'UNKNOWN_FIELD', fields: [field] },
        });
      }
    }
    expect(done(await harness.session.get<RunView[]>(runs)).data).toEqual([]);
  });

  it('is refused in the objects of a request, too, and nothing begins', async () => {
    const { sessionId } = await harness.createSession();
    const answer = await begin(sessionId, { budget: { maxTokens: 5 }, permisionMode: 'READ_ONLY' });
    expect(answer).toMatchObject({
      code: 400,
      data: { errorCode: 'UNKNOWN_FIELD', fields: ['permisionMode', 'budget.maxTokens'] },
    });
    expect(answer.msg).toContain('budget.maxToolCalls');
    const runs = `/coding/harness/sessions/${sessionId}/runs`;
    expect(done(await harness.session.get<RunView[]>(runs)).data).toEqual([]);
  });

  it('is still dropped by the routes of other clients', async () => {
    const answer = await harness.session.post('/system/session', { surprise: 1 });
    expect(answer.code).toBe(200);
  });
});

describe('the permissionMode of a run', () => {
  it('narrows what the run may do: its tools, its instructions, the policy', async () => {
    const { sessionId } = await harness.createSession({ permissionMode: 'FULL_ACCESS' });
    const call = { path: 'new.txt', content: 'x' };
    harness.script({ toolCalls: [{ name: 'write_file', arguments: call }] }, { text: 'Done.' });
    const begun = done(await begin(sessionId, { permissionMode: 'READ_ONLY' })).data;
    expect(begun).toMatchObject({ permissionMode: 'READ_ONLY', phase: 'BUILD' });
    const ended = await harness.ended(begun);
    expect(ended).toMatchObject({ status: 'COMPLETED', permissionMode: 'READ_ONLY' });
    expect(existsSync(join(harness.workspace, 'new.txt'))).toBe(false);
    const { tools, system } = lastRequest();
    expect(tools).toContain('read_file');
    expect(tools).not.toContain('write_file');
    expect(tools).not.toContain('shell');
    expect(system).toContain('READ_ONLY');
    const [created] = await harness.events(begun);
    expect(created?.data).toMatchObject({ permissionMode: 'READ_ONLY' });
    const report = done(await harness.session.get(harness.path(begun, '/report'))).data;
    expect(report).toMatchObject({ permissionMode: 'READ_ONLY' });
  });

  it('asks where the session would not', async () => {
    const { sessionId } = await harness.createSession({ permissionMode: 'FULL_ACCESS' });
    const planned = { summary: 'Run it', steps: [{ text: 'Run it' }], files: [] };
    harness.script(
      { toolCalls: [{ name: 'plan_create', arguments: planned }] },
      { toolCalls: [{ name: 'shell', arguments: { command: 'true' } }] },
    );
    const run = done(await begin(sessionId, { permissionMode: 'WORKSPACE_WRITE' })).data;
    const { plan } = await harness.waitFor(run, 'WAITING_FOR_INPUT');
    const { taskId, expectedRevision, canonicalHash } = plan as Record<string, unknown>;
    const review = { taskId, expectedRevision, expectedHash: canonicalHash };
    done(await harness.post(run, '/plan/approve', { ...review, idempotencyKey: freshKey() }));
    const waiting = await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    expect(pendingOf(waiting)).toMatchObject([{ toolName: 'shell' }]);
    await harness.post(run, '/cancel');
    await harness.ended(run);
  });

  it('widens nothing', async () => {
    const { sessionId } = await harness.createSession();
    expect(await begin(sessionId, { permissionMode: 'FULL_ACCESS' })).toMatchObject({
      code: 400,
      msg: expect.stringContaining('which is WORKSPACE_WRITE; FULL_ACCESS is wider'),
      data: { errorCode: 'PERMISSION_MODE_TOO_WIDE', permissionMode: 'WORKSPACE_WRITE' },
    });
    expect(await begin(sessionId, { permissionMode: 'ALL' })).toMatchObject({ code: 400 });
  });

  it('goes on with a FOLLOW_UP to the ended run', async () => {
    const { sessionId } = await harness.createSession();
    harness.script({ text: 'Done.' }, { text: 'Done again.' });
    const over = { permissionMode: 'READ_ONLY', model: OTHER };
    const first = done(await begin(sessionId, over)).data;
    await harness.ended(first);
    const next = done(
      await harness.post(first, '/inputs', {
        ...{ kind: 'FOLLOW_UP', content: 'More', idempotencyKey: freshKey() },
      }),
    ).data;
    expect(next.runId).not.toBe(first.runId);
    expect(await harness.ended(next)).toMatchObject({ ...over, status: 'COMPLETED' });
  });

  it('lets a user without coding:harness:write read in a READ_ONLY run alone', async () => {
    const { sessionId } = await harness.createSession(
      { permissionMode: 'READ_ONLY' },
      reader.session,
    );
    const path = `/coding/harness/sessions/${sessionId}/runs`;
    const body = { requirement: 'Look', idempotencyKey: freshKey() };
    const wider = { ...body, permissionMode: 'WORKSPACE_WRITE' };
    expect(await reader.session.post(path, wider)).toMatchObject({ code: 400 });
    harness.script({ text: 'Done.' });
    const run = done(await reader.session.post<RunView>(path, body)).data;
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('the model of a run', () => {
  it('is asked instead of the session’s, and shown wherever a model is', async () => {
    const { sessionId } = await harness.createSession({ permissionMode: 'READ_ONLY' });
    harness.script({ text: 'Done.' });
    const run = done(await begin(sessionId, { model: OTHER })).data;
    expect(run['model']).toBe(OTHER);
    const ended = await harness.ended(run);
    // Of its window, and not of the session's model.
    expect(ended).toMatchObject({ status: 'COMPLETED', model: OTHER, contextLimit: 27_904 });
    expect(lastRequest().model).toBe(OTHER);
    const [created] = await harness.events(run);
    expect(created?.data).toMatchObject({ model: OTHER });
    expect(done(await harness.session.get(harness.path(run, '/report'))).data).toMatchObject({
      model: OTHER,
    });
    harness.script({ text: 'Done.' });
    const next = done(await begin(sessionId, {})).data;
    expect(await harness.ended(next)).toMatchObject({ model: CODER });
  });

  it('must exist and call tools', async () => {
    const { sessionId } = await harness.createSession();
    for (const [model, errorCode] of [
      ['no-such-model', 'MODEL_NOT_FOUND'],
      ['no-tools', 'MODEL_NO_TOOLS'],
    ]) {
      expect(await begin(sessionId, { model })).toMatchObject({ code: 400, data: { errorCode } });
    }
  });

  it('and its mode are part of what an idempotencyKey stands for', async () => {
    const { sessionId } = await harness.createSession();
    const body = { idempotencyKey: freshKey(), permissionMode: 'READ_ONLY', model: OTHER };
    harness.script({ text: 'Done.' });
    const run = done(await begin(sessionId, body)).data;
    expect((await begin(sessionId, body)).data).toMatchObject({ runId: run.runId, replayed: true });
    expect(await begin(sessionId, { ...body, model: CODER })).toMatchObject({ code: 409 });
    const { permissionMode: _, ...wider } = body;
    expect(await begin(sessionId, wider)).toMatchObject({ code: 409 });
    await harness.ended(run);
  });
});
