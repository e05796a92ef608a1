import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeUser, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Figures {
  readonly turns: number;
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly firstTokens: number;
  readonly firstTokenMs: number | null;
}

interface Use {
  readonly days: readonly (Figures & { readonly day: string })[];
  readonly models: readonly (Figures & {
    readonly modelName: string;
    readonly providerCode: string | null;
  })[];
  readonly failures: readonly { readonly modelName: string; readonly error: string }[];
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  await createModel(admin, { ...service, modelName: 'sim-chat' });
  await createModel(admin, { ...service, modelName: 'sim-gone', apiHost: 'http://127.0.0.1:9/v1' });
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

describe('the report of use', () => {
  it('has every day, also those without a turn', async () => {
    const { data } = await admin.get<Use>('/monitor/use?days=3');
    expect(data.days.map(({ turns }) => turns)).toEqual([0, 0, 0]);
    expect(data.days.every(({ firstTokenMs }) => firstTokenMs === null)).toBe(true);
    expect(data).toMatchObject({ models: [], failures: [] });
  });

  it('counts turns, tokens and failures by day and by model', async () => {
    await sendChat(admin, { model: 'sim-chat', content: 'One' });
    await sendChat(admin, { model: 'sim-chat', content: 'Two' });
    await sendChat(admin, { model: 'sim-gone', content: 'Three' });
    const { data } = await admin.get<Use>('/monitor/use');
    expect(data.days).toHaveLength(14);
    expect(data.days.at(-1)).toMatchObject({ turns: 3, failures: 1 });
    expect(
      data.models.map(({ modelName, turns, failures }) => [modelName, turns, failures]),
    ).toEqual([
      ['sim-chat', 2, 0],
      ['sim-gone', 1, 1],
    ]);
    const [used] = data.models;
    expect(used?.providerCode).toBe('custom_api');
    expect(used?.inputTokens).toBeGreaterThan(0);
    expect(used?.outputTokens).toBeGreaterThan(0);
    expect(used?.firstTokenMs).toBeGreaterThanOrEqual(0);
    expect(data.failures).toHaveLength(1);
    expect(data.failures[0]?.modelName).toBe('sim-gone');
    expect(data.failures[0]?.error).not.toBe('');
  });

  it('tells the mean time to the first token, as the report of usage does', async () => {
    await sendChat(admin, { model: 'sim-chat', content: 'Four' });
    await inTenant('000000', () =>
      plinth.app.get(Database).query(
        `UPDATE chat_message answer SET first_token_ms = (ARRAY[100, 200, 900])[place]
           FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM chat_message
                  WHERE tenant_id = $1 AND model_name = 'sim-chat' AND role = 'assistant') numbered
          WHERE answer.tenant_id = $1 AND answer.id = numbered.id`,
        ['000000'],
      ),
    );
    const { data } = await admin.get<Use>('/monitor/use');
    expect(data.models[0]).toMatchObject({ firstTokens: 3, firstTokenMs: 400 });
    expect(data.days.at(-1)).toMatchObject({ firstTokens: 3, firstTokenMs: 400 });
    expect(data.days[0]).toMatchObject({ firstTokens: 0, firstTokenMs: null });
  });

  it('needs its permission and refuses more days than a quarter has', async () => {
    const user = await makeUser(plinth, admin, 'reader', [await roleId(admin, 'user')]);
    expect(await user.session.get('/monitor/use')).toMatchObject({ code: 403 });
    expect(await admin.get('/monitor/use?days=93')).toMatchObject({ code: 400 });
  });
});
