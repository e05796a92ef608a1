import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import type { RunView } from '../support/harness.js';
import { RunStream } from '../support/harness-stream.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { done } from '../support/people.js';
import { approvalDecision, planDecision } from '../support/scripted-model.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const SESSIONS = '/coding/harness/sessions';

/** The offline demo as docs/HARNESS.md walks through it, with a crash in the middle. */
(isBuilt ? describe : describe.skip)('the demo of the harness', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-demo-')));
  const dataDir = join(folder, 'data');
  /** With a server, workspaces are where HARNESS_ROOTS says, which is never in DATA_DIR. */
  const example = process.env['DATABASE_URL']
    ? join(folder, 'workspaces', 'example')
    : join(dataDir, 'workspaces', '000000', 'example');
  let store: OwnStore;
  let service: BuiltProcess;
  let admin: Session;
  let keys = 0;

  afterEach(killAll);

  beforeAll(async () => {
    store = await ownStore({ dataDir });
    // The demo makes its repository itself, in a folder that the operator has made.
    if (store.databaseUrl !== undefined) mkdirSync(dirname(example));
  });

  afterAll(async () => {
    await store.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const environment = (): Record<string, string> => ({
    ADMIN_PASSWORD,
    DEMO: 'on',
    ...store.environment,
    ...(store.databaseUrl !== undefined && {
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      HARNESS_ROOTS: `000000=${dirname(example)}`,
    }),
  });
  const start = async (): Promise<void> => {
    service = boot(dataDir, environment());
    admin = await adminAt(await addressOf(service), ADMIN_PASSWORD);
  };

  const session = async (permissionMode: string, approvalPolicy: string): Promise<string> => {
    const body = {
      workspacePath: store.databaseUrl === undefined ? 'example' : example,
      model: 'demo-coder-paced',
      permissionMode,
      approvalPolicy,
    };
    const made = await admin.post<{ sessionId: string }>(SESSIONS, {
      ...body,
      idempotencyKey: key(),
    });
    return done(made).data.sessionId;
  };
  const key = (): string => `key-${(keys += 1)}`;

  const run = async (sessionId: string, requirement: string): Promise<string> => {
    const body = { requirement, idempotencyKey: key() };
    const { data } = done(await admin.post<RunView>(`${SESSIONS}/${sessionId}/runs`, body));
    return `${SESSIONS}/${sessionId}/runs/${data.runId}`;
  };
  const state = async (path: string): Promise<RunView> => done(await admin.get<RunView>(path)).data;
  const reached = (path: string, status: string): Promise<RunView> =>
    eventually(
      () => state(path),
      (view) => view.status === status,
      START_MS,
    );
  const watch = (path: string, after?: string): Promise<RunStream> =>
    RunStream.open(admin, `${path}/events/stream`, after ? { 'last-event-id': after } : {});
  const basket = (): string => readFileSync(join(example, 'src/basket.js'), 'utf8');
  const answerOf = async (path: string): Promise<string> => {
    const stream = await watch(path);
    const completed = (await stream.rest()).filter(({ type }) => type === 'assistant.completed');
    return String(completed.at(-1)?.data['text']);
  };
  /** The tests of the repository, as a person would run them. */
  const testsPass = (): boolean =>
    spawnSync(process.execPath, ['--test'], { cwd: example, env: {} }).status === 0;

  it(
    'repairs the example under the eyes of a person, through a lost connection and a crash',
    async () => {
      await start();
      expect(testsPass()).toBe(false);
      const before = basket();
      const path = await run(
        await session('WORKSPACE_WRITE', 'ON_REQUEST'),
        'Fix the failing test.',
      );

      const first = await watch(path);
      await first.event('run.waiting_for_input');
      first.leave();
      const last = first.events.at(-1)?.sequence ?? 0;
      const waiting = await reached(path, 'WAITING_FOR_INPUT');
      expect(waiting).toMatchObject({ plan: { files: ['src/basket.js'] } });
      done(await admin.post(`${path}/plan/approve`, planDecision(waiting)));

      const second = await watch(path, String(last));
      await second.event('assistant.text.delta');
      expect(second.events[0]).toMatchObject({ type: 'plan.approved', sequence: last + 1 });
      const seen = second.events.at(-1)?.sequence ?? 0;
      service.child.kill('SIGKILL');
      await service.exit;
      second.leave();

      await start();
      const third = await watch(path, String(seen));
      await third.event('run.recovered');
      expect(third.events[0]?.sequence).toBe(seen + 1);
      await approveCommand(path);
      const rest = await third.rest();
      expect(rest.at(-1)).toMatchObject({
        type: 'run.completed',
        data: { stopReason: 'END_TURN' },
      });
      const whole = await (await watch(path)).rest();
      expect(whole.map(({ sequence }) => sequence)).toEqual(whole.map((_, index) => index + 1));
      expect((await watch(path, String(whole.length))).status).toBe(204);

      expect(basket()).toBe(before.replace('quantity > MANY', 'quantity >= MANY'));
      expect(testsPass()).toBe(true);
      const diff = done(await admin.get<{ text: string }>(`${path}/diff`)).data.text;
      expect(diff).toContain('+  return quantity >= MANY_PIECES');
      const report = await admin.raw('GET', `${path}/report?format=markdown`);
      expect(report.text).toContain('Fix the failing test.');
      done(await admin.post(`${path}/undo`, {}));
      expect(basket()).toBe(before);
      done(await admin.post(`${path}/redo`, {}));
      expect(testsPass()).toBe(true);
    },
    4 * START_MS,
  );

  it(
    'explains, adds and goes on in one session, without asking where nobody is to be asked',
    async () => {
      await start();
      const reading = await session('READ_ONLY', 'ON_REQUEST');
      const explain = await run(reading, 'What does shipping cost, and when is it free?');
      await reached(explain, 'COMPLETED');
      expect(await answerOf(explain)).toContain('Shipping is 490 cents, and free for baskets');
      const fix = await run(reading, 'Fix the failing test.');
      await reached(fix, 'COMPLETED');
      expect(await answerOf(fix)).toMatch(/found nothing to change|may only read/);

      const free = await session('FULL_ACCESS', 'NEVER');
      const add = await run(
        free,
        'Add a function `countPieces` that counts the pieces of a basket.',
      );
      expect(await reached(add, 'COMPLETED')).toMatchObject({ approvals: {}, phase: 'BUILD' });
      expect(basket()).toContain('export function countPieces(lines)');
      expect(readFileSync(join(example, 'test/basket.test.js'), 'utf8')).toContain(
        "test('countPieces'",
      );
      expect(testsPass()).toBe(true);
      const rename = await run(free, 'Rename countPieces to pieceCount.');
      await reached(rename, 'COMPLETED');
      expect(basket()).toContain('function pieceCount(');
      expect(testsPass()).toBe(true);
      expect(done(await admin.get<RunView[]>(`${SESSIONS}/${free}/runs`)).data).toHaveLength(2);
    },
    3 * START_MS,
  );

  /** Where there is a sandbox the tests are run, which a person allows. */
  async function approveCommand(path: string): Promise<void> {
    const capabilities = await admin.get<{ shell: { available: boolean } }>(
      '/coding/harness/capabilities',
    );
    if (!capabilities.data.shell.available) return;
    const { approvalId, body } = approvalDecision(await reached(path, 'WAITING_FOR_APPROVAL'));
    done(await admin.post(`${path}/approvals/${approvalId}/resolve`, body));
  }
});
