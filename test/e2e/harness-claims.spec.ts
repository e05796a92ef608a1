import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../src/platform/database/index.js';
import { MAX_RECOVERIES } from '../../src/harness/protocol/run.state.js';
import { CODER, startHarness } from '../support/harness.js';
import type { Harness, RunView } from '../support/harness.js';
import { ownRun } from '../support/harness-run.js';
import { done, makeRole, makeUser } from '../support/people.js';
import { eventually } from '../support/wait.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ environment: { HARNESS_RUNS_PER_USER: '2' } });
});

afterAll(() => harness.stop());

const begun: RunView[] = [];

afterEach(async () => {
  for (const run of begun.splice(0)) {
    done(await harness.post(run, '/cancel'));
    await harness.ended(run);
  }
});

async function begin(session: Record<string, unknown>, by = harness.session): Promise<RunView> {
  const { sessionId } = await harness.createSession(session, by);
  const run = await harness.createRun(sessionId, {}, by);
  begun.push(run);
  return run;
}

/** A run that its model keeps waiting. */
async function beginLong(session: Record<string, unknown>): Promise<RunView> {
  harness.script({ match: { model: CODER }, firstMs: 600_000 });
  const run = await begin(session);
  await eventually(
    () => harness.events(run),
    (events) => events.some(({ type }) => type === 'model.turn.started'),
  );
  return run;
}

/** Why the run waits, as its events say. */
async function reasonsOf(run: RunView): Promise<unknown[]> {
  const events = await harness.events(run);
  return events.filter(({ type }) => type === 'run.queued').map(({ data }) => data['reason']);
}

async function waitsFor(run: RunView, reason: string): Promise<void> {
  await eventually(
    () => harness.run(run),
    (view) => view['reason'] === reason,
  );
  expect(await reasonsOf(run)).toEqual(['created', reason]);
}

describe('a run that has to wait', () => {
  it.each([
    ['the same folder', ''],
    ['a folder in it', 'src'],
    ['the folder that holds it', '..'],
  ])('because another one works in %s says so, and begins when that has ended', async (_, path) => {
    mkdirSync(join(harness.workspace, 'src'), { recursive: true });
    const first = await beginLong({});
    const workspacePath = join(harness.workspace, path);
    const second = await begin({ workspacePath });
    await waitsFor(second, 'workspace_busy');
    // Whoever only reads does not wait.
    const reading = await begin({ workspacePath, permissionMode: 'READ_ONLY' });
    expect(await harness.ended(reading)).toMatchObject({ status: 'COMPLETED' });
    done(await harness.post(first, '/cancel'));

    expect(await harness.ended(second)).toMatchObject({ status: 'COMPLETED' });
  });

  it('because its user has as many as are allowed says so, and begins when one has ended', async () => {
    const first = await beginLong({ permissionMode: 'READ_ONLY' });
    await beginLong({ permissionMode: 'READ_ONLY' });
    const third = await begin({ permissionMode: 'READ_ONLY' });
    await waitsFor(third, 'limit_of_live_runs');
    done(await harness.post(first, '/cancel'));

    expect(await harness.ended(third)).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('a run that cannot go on', () => {
  it.each([
    ['write', 'coding:harness:use'],
    ['use it', 'coding:harness:write'],
  ])('because its user may no longer %s ends as PERMISSION_REVOKED', async (_, kept) => {
    const { plinth, session: admin } = harness;
    const permissions = ['coding:harness:use', 'coding:harness:write'];
    const write = await makeRole(admin, `both-of-${kept}`, permissions);
    const one = await makeRole(admin, `only-${kept}`, [kept]);
    const person = await makeUser(plinth, admin, `demoted-${kept.slice(-3)}`, [write]);
    const first = await beginLong({});
    const run = await begin({}, person.session);
    await waitsFor(run, 'workspace_busy');
    done(await admin.put('/system/user', { userId: person.id, roleIds: [one] }));
    done(await harness.post(first, '/cancel'));

    expect(await harness.ended(run)).toMatchObject({
      ...{ status: 'FAILED', stopReason: 'PERMISSION_REVOKED' },
      error: { code: 'PERMISSION_REVOKED' },
    });
    expect((await harness.events(run)).at(-1)).toMatchObject({
      type: 'run.failed',
      data: { stopReason: 'PERMISSION_REVOKED' },
    });
  });

  it('because its owners are lost again and again ends as RECOVERY_EXHAUSTED', async () => {
    const { lease: _, ...run } = await ownRun(harness.plinth, harness.session);
    await harness.plinth.app
      .get(Database)
      .query('UPDATE harness_run SET recovery_attempts = $2, lease_until = now() WHERE id = $1', [
        run.runId,
        MAX_RECOVERIES,
      ]);

    expect(await harness.ended(run)).toMatchObject({
      ...{ status: 'FAILED', stopReason: 'RECOVERY_EXHAUSTED' },
      error: { code: 'RECOVERY_EXHAUSTED' },
    });
  });
});

describe('the time that a run was worked on', () => {
  it('counts to its end, also between two renewals', async () => {
    harness.script({ text: 'Done.', firstMs: 600 });
    const run = await begin({ permissionMode: 'READ_ONLY' });
    await harness.ended(run);
    const { data } = done(
      await harness.session.get<{ activeMillis: number }>(harness.path(run, '/usage')),
    );

    expect(data.activeMillis).toBeGreaterThanOrEqual(600);
    expect(data.activeMillis).toBeLessThan(30_000);
  });
});
