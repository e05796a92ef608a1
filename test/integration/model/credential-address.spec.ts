import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { canary } from '../../support/canary.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const PERMISSION = 'system:model:credential';
const REFUSAL =
  'The stored API key was entered for another service: scheme, host or port of the address changes. Enter the apiKey for the new address, or ask an administrator who has the permission system:model:credential.';

describe('the address that a stored key is sent to', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let elsewhere: Simulator;
  let root: Session;
  let editor: Session;

  beforeAll(async () => {
    [simulator, elsewhere] = await Promise.all([startSimulator(), startSimulator()]);
    plinth = await Plinth.start();
    root = await plinth.signIn();
    for (const code of ['custom_api', 'custom_messages', 'atlas', 'image_sdk']) {
      await createProvider(root, code);
    }
    const permissions = ['list', 'query', 'add', 'edit', 'test'].map(
      (one) => `system:model:${one}`,
    );
    editor = (await makeUser(plinth, root, 'editor', [await makeRole(root, 'editor', permissions)]))
      .session;
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    await elsewhere.close();
  });

  beforeEach(() => {
    simulator.reset();
    elsewhere.reset();
  });

  let counter = 0;
  async function keyed(fields: object = {}): Promise<number> {
    counter += 1;
    return createModel(root, {
      modelName: `keyed-${counter}`,
      apiHost: `${simulator.url}/v1`,
      apiKey: canary.plant('kept'),
      ...fields,
    });
  }

  async function lastDetail(id: number): Promise<unknown> {
    const { rows } = await root.get<{ action: string; detail: object }[]>(
      `/monitor/audit/list?targetType=model&targetId=${id}`,
    );
    return rows.find(({ action }) => action === 'update')?.detail;
  }

  it('does not change with the key kept, for a caller who may only edit', async () => {
    const id = await keyed();
    for (const apiHost of [
      `${elsewhere.url}/v1`,
      `${simulator.url.replace('http:', 'https:')}/v1`,
      `${simulator.url.replace('127.0.0.1', 'localhost')}/v1`,
    ]) {
      const answer = await editor.put('/system/model', { id, apiHost, apiKey: '' });
      expect([answer.code, answer.msg]).toEqual([400, REFUSAL]);
    }
    await editor.post(`/system/model/${id}/test`, {});
    expect(elsewhere.requests).toHaveLength(0);
    expect(simulator.requests).not.toHaveLength(0);
  });

  it('does not change by a provider code or category that has another address', async () => {
    const ignored = await keyed({
      providerCode: 'image_sdk',
      category: 'image',
      apiHost: elsewhere.url,
    });
    const change = { id: ignored, providerCode: 'atlas' };
    expect((await editor.put('/system/model', change)).msg).toBe(REFUSAL);
    const moved = { ...change, apiHost: `${simulator.url}/v1` };
    expect((await editor.put('/system/model', moved)).msg).toBe(REFUSAL);
  });

  it('may change in its path, and with a key of its own', async () => {
    const id = await keyed();
    done(await editor.put('/system/model', { id, apiHost: `${simulator.url}/other/v1` }));
    done(await editor.put('/system/model', { id, apiHost: simulator.url, remark: 'again' }));
    const apiKey = canary.plant('own');
    done(await editor.put('/system/model', { id, apiHost: `${elsewhere.url}/v1`, apiKey }));
    await editor.post(`/system/model/${id}/test`, {});
    expect(elsewhere.requests.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${apiKey}`,
    ]);
  });

  it('may change where no key is stored', async () => {
    const id = await keyed({ apiKey: '' });
    done(await editor.put('/system/model', { id, apiHost: `${elsewhere.url}/v1` }));
  });

  it('may change with the permission, and the audit shows both hosts', async () => {
    const id = await keyed();
    const permitted = await makeRole(root, 'keeper', ['system:model:edit', PERMISSION]);
    const { session } = await makeUser(plinth, root, 'keeper', [permitted]);
    done(await session.put('/system/model', { id, apiHost: `${elsewhere.url}/secret-path/v1` }));
    expect(await lastDetail(id)).toEqual({
      fields: ['apiHost'],
      oldHost: simulator.url,
      newHost: elsewhere.url,
    });
    done(await session.put('/system/model', { id, apiHost: `${elsewhere.url}/v1` }));
    expect(await lastDetail(id)).toEqual({ fields: ['apiHost'] });
  });

  it('is not changed between the check and a key that is stored meanwhile', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => keyed({ apiKey: '' })));
    const apiKey = canary.plant('meanwhile');
    await Promise.all(
      ids.flatMap((id) => [
        root.put('/system/model', { id, apiHost: `${simulator.url}/v1`, apiKey }),
        editor.put('/system/model', { id, apiHost: `${elsewhere.url}/v1` }),
      ]),
    );
    for (const id of ids) await root.post(`/system/model/${id}/test`, {});
    const keys = elsewhere.requests.map(({ headers }) => headers.authorization);
    expect(keys.filter((key) => key !== undefined)).toEqual([]);
  });

  it('is shown by the audit of a provider, whose address forms copy', async () => {
    const { rows } =
      await root.get<{ id: number; providerCode: string }[]>('/system/provider/list');
    const id = rows.find(({ providerCode }) => providerCode === 'custom_messages')?.id;
    done(await root.put('/system/provider', { id, apiHost: 'https://one.example.com/v1' }));
    done(await root.put('/system/provider', { id, apiHost: 'https://two.example.com/v1' }));
    const entries = await root.get<{ detail: object }[]>(
      `/monitor/audit/list?targetType=provider&targetId=${id}`,
    );
    expect(entries.rows[0]?.detail).toEqual({
      fields: ['apiHost'],
      oldHost: 'https://one.example.com',
      newHost: 'https://two.example.com',
    });
  });
});
