import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CallerResolver, OpenStreams } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { startSimulator } from '../../../simulator/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';

/** Both hear each other's events, and no other test does. */
const REDIS_PREFIX = `plinth-shared-${process.pid}`;

const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

onServer('two processes on one database', () => {
  let one: Plinth;
  let two: Plinth;

  beforeAll(async () => {
    one = await Plinth.start({ REDIS_PREFIX });
    const { DATABASE_URL } = one.app.get<Config>(CONFIG);
    two = await Plinth.start({
      REDIS_PREFIX,
      DATABASE_URL: DATABASE_URL ?? '',
      DATA_DIR: one.dataDir,
    });
  });
  afterAll(async () => {
    await two.stop();
    await one.stop();
  });

  it('acts on one what was decided on the other, with the next request', async () => {
    const root = await one.signIn();
    const lists = await makeRole(root, 'lists', ['system:user:list']);
    const { session, id } = await makeUser(one, root, 'shared', [lists]);
    const onTwo = new Session(two.url, session.headers);
    expect(await onTwo.get('/system/user/list')).toMatchObject({ code: 200 });
    done(await root.put('/system/role', { roleId: lists, permissions: [] }));
    expect(await onTwo.get('/system/user/list')).toMatchObject({ code: 403 });
    done(await root.put('/system/user/changeStatus', { userId: id, status: '1' }));
    expect(await onTwo.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });

  it('ends the streams of an API key on the other when it is revoked on one', async () => {
    const simulator = await startSimulator();
    const root = await one.signIn();
    await createProvider(root, 'custom_api');
    const modelName = 'sim--chunks-5000--delay-10';
    await createModel(root, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key-one' });
    const made = await makeKey(root, { permissions: ['chat:chat:use'] });
    const onTwo = withKey(new Session(two.url, {}), made);
    const chat = await OpenChat.send(onTwo, { model: modelName, content: 'x' });
    await chat.until('event: content');
    // Only an event can end it now, and not the check every 15 seconds.
    clearInterval(two.app.get(OpenStreams)['timer']);
    done(await root.delete(`/system/apikey/${made.id}`));
    expect((await chat.rest()).error).toMatch(/signed|sign-in/);
    expect(await onTwo.get('/system/user/getInfo')).toMatchObject({
      code: 401,
      msg: 'The API key has been revoked. Create a new one.',
    });
    await simulator.close();
  });

  it('authenticates requests at the application that they were sent to', async () => {
    const { headers } = await one.signIn();
    const sent = [one, two].map((plinth) => ({
      session: new Session(plinth.url, headers),
      resolve: jest.spyOn(plinth.app.get(CallerResolver), 'resolve'),
    }));
    const rounds = Array.from({ length: 10 }, () => sent).flat();
    await Promise.all(rounds.map(({ session }) => session.get('/system/permission/list')));
    for (const { resolve } of sent) {
      expect(resolve).toHaveBeenCalledTimes(10);
      resolve.mockRestore();
    }
  });
});
