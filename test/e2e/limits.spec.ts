import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { done } from '../support/people.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

// The embedded store has one process.
const isPossible = isBuilt && process.env['DATABASE_URL'] !== undefined;

const PROCESSES = 4;
const CALLS = 200;
/** 190 tokens a call for 0.17, which is near to what it reserves. */
const MODEL = 'sim-fixed--inputtokens-150--outputtokens-40';
const TOKENS = 190;
const COST = 0.17;
const BODY = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 40 };

interface Limit {
  readonly id: number;
  readonly cap: number;
  readonly use: { readonly used: number; readonly reserved: number };
}

interface Usage {
  readonly total: {
    readonly calls: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cost: string;
  };
}

(isPossible ? describe : describe.skip)('limits of several processes', () => {
  let dataDir: string;
  let simulator: Simulator;
  let store: OwnStore;
  const processes: BuiltProcess[] = [];
  let sessions: Session[];
  let modelId: number;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-limits-'));
    simulator = await startSimulator();
    store = await ownStore();
    const environment = {
      ...store.environment,
      ADMIN_PASSWORD,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      DATABASE_POOL_SIZE: '5',
      CHAT_STREAMS_PER_USER: String(CALLS),
    };
    // The first one makes the tables.
    const first = boot(dataDir, environment);
    await addressOf(first);
    const others = Array.from({ length: PROCESSES - 1 }, () => boot(dataDir, environment));
    processes.push(first, ...others);
    const addresses = await Promise.all(processes.map(addressOf));
    sessions = await Promise.all(addresses.map((address) => adminAt(address, ADMIN_PASSWORD)));
    const [admin] = sessions as [Session];
    await createProvider(admin, 'custom_api');
    const prices = { inputPrice: 1_000, outputPrice: 500 };
    modelId = await createModel(admin, {
      ...prices,
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
      modelName: MODEL,
    });
  }, START_MS);

  afterEach(async () => {
    simulator.reset();
    const { rows } = done(await by(0).get<Limit[]>('/system/limit/list'));
    const ids = rows.map(({ id }) => id).join(',');
    if (ids !== '') done(await by(0).delete(`/system/limit/${ids}`));
  });

  afterAll(async () => {
    killAll();
    await Promise.all(processes.map(({ exit }) => exit));
    await simulator.close();
    await store.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function by(process: number): Session {
    const session = sessions[process % sessions.length];
    if (!session) throw new Error('There is no process.');
    return session;
  }

  async function limit(fields: object): Promise<Limit> {
    return done(await by(0).post<Limit>('/system/limit', { scope: 'tenant', ...fields })).data;
  }

  async function limitNow({ id }: Limit): Promise<Limit> {
    return done(await by(0).get<Limit>(`/system/limit/${id}`)).data;
  }

  /** All at once, over all processes; answers the statuses. */
  function burst(): Promise<number[]> {
    return Promise.all(
      Array.from({ length: CALLS }, async (_, call) => {
        const body = { ...BODY, stream: call % 2 === 0 };
        return (await by(call).raw('POST', '/v1/chat/completions', body)).status;
      }),
    );
  }

  const settled = (one: Limit): Promise<Limit> =>
    eventually(
      () => limitNow(one),
      ({ use }) => use.reserved === 0,
    );

  /** As when the lease of a process that has ended is over. */
  async function expireReservations(): Promise<void> {
    const client = new pg.Client({ connectionString: store.environment['DATABASE_URL'] });
    await client.connect();
    await client.query(`UPDATE usage_reservation SET expire_time = now() - interval '1 second'`);
    await client.end();
  }

  async function usage(): Promise<Usage['total']> {
    return done(await by(0).get<Usage>('/monitor/usage')).data.total;
  }

  it(
    'never settle above their caps, and the usage ledger agrees',
    async () => {
      // All four are asked in each call.
      const limits = await Promise.all([
        limit({ measure: 'tokens-day', cap: 10_000 }),
        limit({ measure: 'cost-month', cap: 9 }),
        limit({ scope: 'model', modelId, measure: 'tokens-month', cap: 11_000 }),
        limit({ scope: 'user', measure: 'requests-minute', cap: 150 }),
      ]);
      let made = 0;
      for (let round = 0; round < 3; round += 1) {
        const statuses = await burst();
        const accepted = statuses.filter((status) => status === 200).length;
        expect(statuses.filter((status) => status === 429)).toHaveLength(CALLS - accepted);
        made += accepted;
        for (const one of limits) {
          const { cap, use } = await settled(one);
          expect(use.used).toBeLessThanOrEqual(cap);
        }
      }
      expect(simulator.total).toBe(made);
      // The requests of the first round may be more than a minute ago.
      const [tokens, cost, model] = await Promise.all(limits.slice(0, 3).map(limitNow));
      expect(tokens?.use.used).toBe(made * TOKENS);
      expect(model?.use.used).toBe(made * TOKENS);
      expect(cost?.use.used).toBeCloseTo(made * COST, 9);
      const recorded = await usage();
      expect(recorded.calls).toBe(made);
      expect(recorded.inputTokens + recorded.outputTokens).toBe(made * TOKENS);
      expect(Number(recorded.cost)).toBeCloseTo(made * COST, 9);
      // Nearly all of the budget can be used.
      expect(made).toBeGreaterThan(40);
    },
    START_MS,
  );

  it(
    'let no more requests through in a minute than they say',
    async () => {
      const { calls: before } = await usage();
      await limit({ measure: 'requests-minute', cap: 60 });
      const statuses = await burst();
      expect(statuses.filter((status) => status === 200)).toHaveLength(60);
      expect(simulator.total).toBe(60);
      // Calls without a budget are recorded with others.
      await eventually(usage, ({ calls }) => calls === before + 60);
    },
    START_MS,
  );

  it(
    'lose no recorded call of a process that is killed, and forget what it had reserved',
    async () => {
      const { calls: before, inputTokens, outputTokens } = await usage();
      const one = await limit({ measure: 'tokens-day', cap: 1_000_000 });
      const doomed = by(PROCESSES - 1);
      for (let call = 0; call < 10; call += 1) {
        expect((await doomed.raw('POST', '/v1/chat/completions', BODY)).status).toBe(200);
      }
      await settled(one);
      simulator.script({ hold: true, times: 5 });
      const cut = Array.from({ length: 5 }, () =>
        doomed.raw('POST', '/v1/chat/completions', BODY).catch(() => undefined),
      );
      await eventually(
        () => simulator.held,
        (held) => held === 5,
      );
      expect((await limitNow(one)).use.reserved).toBeGreaterThan(0);
      const killed = processes.at(-1);
      killed?.child.kill('SIGKILL');
      await killed?.exit;
      await Promise.all(cut);
      sessions.pop();
      expect((await limitNow(one)).use.reserved).toBeGreaterThan(0);
      await expireReservations();
      const { use } = await settled(one);
      const used = inputTokens + outputTokens + 10 * TOKENS;
      expect(use.used).toBe(used);
      const now = await usage();
      expect(now.calls).toBe(before + 10);
      expect(now.inputTokens + now.outputTokens).toBe(used);
    },
    START_MS,
  );
});
