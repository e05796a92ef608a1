import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import { Database } from '../../../src/platform/database/index.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeUser, roleId } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const SLOW = 'sim--chunks-500--delay-10';

interface Message {
  role: string;
  content: string;
  state: string;
  error: string | null;
}

describe('chat and what changes around it', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    for (const modelName of [SLOW, 'sim--echo']) {
      await createModel(admin, { modelName, apiHost, apiKey: 'key-one' });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  async function talker(name: string): Promise<Person> {
    return makeUser(plinth, admin, name, [await roleId(admin, 'user')]);
  }

  async function providerId(): Promise<number> {
    const list = await admin.get<{ id: number }[]>('/system/provider/list');
    return list.rows[0]?.id ?? 0;
  }

  it('lets an ordinary user chat in sessions of his own', async () => {
    const { session } = await talker('talker');
    const { data } = done(await session.post<string>('/system/session', {}));
    const reply = await sendChat(session, { model: 'sim--echo', content: 'hi', sessionId: data });
    expect(reply.text).toBe('hi');
    const rows = (await session.get<Message[]>(`/system/message/list?sessionId=${data}`)).rows;
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'hi'],
      ['assistant', 'hi'],
    ]);
    const stranger = await sendChat(admin, { model: 'sim--echo', content: 'x', sessionId: data });
    expect(stranger.error).toMatch(/session was not found/);
  });

  it('a disabled provider refuses the next call and leaves the one in flight alone', async () => {
    const chat = await OpenChat.send(admin, { model: SLOW, content: 'x' });
    await chat.until('tok3');
    const id = await providerId();
    const off = await admin.put('/system/provider', { id, providerCode: 'custom_api', status: 1 });
    expect(off.code).toBe(200);
    const refused = await sendChat(admin, { model: 'sim--echo', content: 'x' });
    expect(refused.error).toMatch(/enable|another/i);
    await chat.until('tok40');
    chat.leave();
    await admin.put('/system/provider', { id, providerCode: 'custom_api', status: 0 });
    expect((await sendChat(admin, { model: 'sim--echo', content: 'again' })).text).toBe('again');
  });

  it('a new key is used by the next call', async () => {
    const list = await admin.get<{ id: number; modelName: string; category: string }[]>(
      '/system/model/list?modelName=sim--echo',
    );
    const [model] = list.rows;
    done(
      await admin.put('/system/model', {
        id: model?.id,
        modelName: 'sim--echo',
        providerCode: 'custom_api',
        category: 'chat',
        apiKey: 'key-two',
      }),
    );
    await sendChat(admin, { model: 'sim--echo', content: 'x' });
    expect(simulator.requests[0]?.headers.authorization).toBe('Bearer key-two');
  });

  it.each([
    [
      'is disabled',
      (person: Person) =>
        admin.put('/system/user/changeStatus', { userId: person.id, status: '1' }),
    ],
    ['signs out', (person: Person) => person.session.post('/auth/logout')],
    ['is deleted', (person: Person) => admin.delete(`/system/user/${person.id}`)],
    [
      'loses the role',
      (person: Person) => admin.put(`/system/user/authRole?userId=${person.id}&roleIds=`),
    ],
  ])('the stream of a user who %s ends, and so does the call upstream', async (what, change) => {
    const person = await talker(`leaver-${what.replace(/ /g, '-')}`);
    const chat = await OpenChat.send(person.session, { model: SLOW, content: 'x' });
    await chat.until('tok3');
    expect((await change(person)).code).toBe(200);
    const reply = await chat.rest();
    expect(reply.error).toMatch(/sign-in has ended/);
    expect(reply.done).toBe(false);
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });

  it('a turn that died with its process is stored as broken off, and its session is free again', async () => {
    const { data: sessionId } = done(await admin.post<string>('/system/session', {}));
    await plinth.app.get(Database).query(
      `UPDATE chat_session SET turn_id = gen_random_uuid(), turn_lease = now() + $3 * interval '1 second'
         WHERE tenant_id = $1 AND id = $2`,
      ['000000', Number(sessionId), 20],
    );
    const turns = plinth.app.get(TurnRepository);
    expect(await turns.sweep(false)).toBe(0);
    const busy = await sendChat(admin, { model: 'sim--echo', content: 'x', sessionId });
    expect(busy.error).toMatch(/still being written/);
    const reader = admin.inLanguage('zh');
    const question = { model: 'sim--echo', content: 'x', sessionId };
    expect((await sendChat(reader, question)).error).toMatch(
      /^该会话中仍有回答正在生成。.*会话将在 \d+ 秒后可用。$/,
    );

    expect(await turns.sweep(true)).toBe(1);
    const { rows } = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    expect(rows).toMatchObject([{ role: 'assistant', state: 'failed' }]);
    expect(rows[0]?.error).toMatch(/service stopped/);
    expect(rows[0]?.content).toBe(rows[0]?.error);
    const { rows: read } = await reader.get<Message[]>(
      `/system/message/list?sessionId=${sessionId}`,
    );
    expect(read[0]?.error).toBe('生成此回答时服务停止了。请重新发送消息。');
    const next = await sendChat(admin, { model: 'sim--echo', content: 'y', sessionId });
    expect(next.text).toBe('y');
  });
});
