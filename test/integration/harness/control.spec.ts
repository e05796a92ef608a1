import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Session } from '../../support/session.js';

const CAPABILITIES = '/coding/harness/capabilities';
const WRITES = '/coding/harness/admin/writes';

interface Shell {
  readonly available: boolean;
  readonly reason: string | null;
  readonly processLimit: string | null;
  readonly memoryLimit: string | null;
}

let harness: Harness;
let user: Session;
let boss: Session;

beforeAll(async () => {
  harness = await startHarness();
  const { plinth, session: admin } = harness;
  const role = await makeRole(admin, 'harness-writer', [
    'coding:harness:use',
    'coding:harness:write',
    'coding:harness:approve',
  ]);
  user = (await makeUser(plinth, admin, 'writer', [role])).session;
  boss = (await makeTenant(plinth, admin, '300001')).admin;
});

afterAll(() => harness.stop());

afterEach(async () => {
  done(await harness.session.post(WRITES, { enabled: true }));
});

describe('the capabilities', () => {
  it('tell tools, limits, modes and policies', async () => {
    const { data } = done(await user.get<Record<string, unknown>>(CAPABILITIES));

    expect(data).toEqual({
      shell: expect.objectContaining({ available: expect.any(Boolean) }),
      limits: {
        maxIterations: 60,
        maxToolCalls: 400,
        maxInputTokens: 1_000_000,
        maxOutputTokens: 200_000,
        maxWallTimeMillis: 3_600_000,
        maxQueuedRuns: 256,
        maxRequirementCharacters: 200_000,
        maxImages: 5,
        maxImageBytes: 8_388_608,
        maxPendingInputs: 64,
        maxPendingInputBytes: 1_048_576,
      },
      permissionModes: ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'],
      approvalPolicies: ['ON_REQUEST', 'NEVER'],
      writesEnabled: true,
      tools: expect.arrayContaining(['list_files', 'read_file', 'edit_file', 'plan_create']),
    });
    expect(data['tools']).not.toContain('ask_user');
  });

  it('have the shell where there is a sandbox, and else its reason', async () => {
    const { shell, tools } = done(
      await user.get<{ shell: Shell; tools: string[] }>(CAPABILITIES),
    ).data;

    expect(tools.includes('shell')).toBe(shell.available);
    expect(shell.reason === null).toBe(shell.available);
    const { processLimit, memoryLimit } = shell;
    const holders = { processLimit, memoryLimit };
    expect(holders).toEqual(
      shell.available
        ? {
            processLimit: expect.stringMatching(/^(cgroup|rlimit|watcher)$/),
            memoryLimit: expect.stringMatching(/^(cgroup|watcher)$/),
          }
        : { processLimit: null, memoryLimit: null },
    );
  });
});

describe('the switch for writes', () => {
  it('is for super administrators alone', async () => {
    for (const session of [user, boss]) {
      expect(await session.post(WRITES, { enabled: false })).toMatchObject({ code: 403 });
    }
    expect(await harness.plinth.anonymous().post(WRITES, { enabled: false })).toMatchObject({
      code: 401,
    });
    expect(await harness.session.post(WRITES, {})).toMatchObject({ code: 400 });
    expect(done(await user.get(CAPABILITIES)).data).toMatchObject({ writesEnabled: true });
  });

  it('lets no run begin that may write, in any session, and says so', async () => {
    const writing = await harness.createSession({}, user);
    const reading = await harness.createSession({ permissionMode: 'READ_ONLY' }, user);
    const answer = done(await harness.session.post(WRITES, { enabled: false }));

    expect(answer.data).toMatchObject({ writesEnabled: false });
    expect(done(await user.get(CAPABILITIES)).data).toMatchObject({ writesEnabled: false });
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey() };
    expect(
      await user.post(`/coding/harness/sessions/${writing.sessionId}/runs`, body),
    ).toMatchObject({ code: 409, data: { errorCode: 'HARNESS_WRITES_DISABLED' } });
    await harness.ended(await harness.createRun(reading.sessionId, {}, user));
    done(await harness.session.post(WRITES, { enabled: true }));
    const run = await harness.createRun(writing.sessionId, body, user);
    await harness.ended(run);
  });

  it('reaches a process within a second that has not switched', async () => {
    done(await user.get(CAPABILITIES));
    await harness.plinth.app
      .get(Database)
      .query("UPDATE harness_switch SET enabled = false WHERE name = 'writes'");
    await sleep(1_050);

    expect(done(await user.get(CAPABILITIES)).data).toMatchObject({ writesEnabled: false });
  });

  it('is written down with who switched it', async () => {
    done(await harness.session.post(WRITES, { enabled: false }));
    const { rows } = done(
      await harness.session.get<{ actorName: string; detail: object }[]>(
        '/monitor/audit/list?targetType=harness_switch&orderByColumn=id&isAsc=desc',
      ),
    );

    expect(rows[0]).toMatchObject({ actorName: 'admin', detail: { enabled: false } });
  });
});
