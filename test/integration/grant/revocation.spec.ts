import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { permissionCatalogue } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat } from '../../support/chat.js';
import { EventReader } from '../../support/event-reader.js';
import { freshKey } from '../../support/harness.js';
import type { RunView, SessionView } from '../../support/harness.js';
import { createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { OidcProvider } from '../../support/oidc-provider.js';
import { done, makeRole, makeUser, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Directory } from '../../support/scim.js';
import { Session } from '../../support/session.js';
import { connectProvider, SsoBrowser } from '../../support/sso.js';
import { eventually } from '../../support/wait.js';

/** Streams for almost a minute, unless it is ended. */
const SLOW = 'sim--chunks-5000--delay-10';

const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

onServer('a right that one process takes away', () => {
  let simulator: Simulator;
  let provider: OidcProvider;
  let root: string;
  let one: Plinth;
  let two: Plinth;
  let admin: Session;
  let everyRole: number;
  let adminId: number;
  let model: number;
  let base: number;
  let agent: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    provider = await OidcProvider.start();
    root = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-revocation-')));
    mkdirSync(join(root, 'example'));
    const REDIS_PREFIX = `plinth-revocation-${process.pid}`;
    const shared = { REDIS_PREFIX, HARNESS_ROOTS: root };
    one = await Plinth.start(shared);
    const { DATABASE_URL = '' } = one.app.get<Config>(CONFIG);
    two = await Plinth.start({ ...shared, DATABASE_URL, DATA_DIR: one.dataDir });
    admin = await one.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    model = await createModel(admin, { ...service, modelName: SLOW, supportsTools: true });
    const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
    await createModel(admin, { ...service, ...embedding });
    const assignable = permissionCatalogue.filter(({ installation }) => !installation);
    const permissions = assignable.map(({ permission }) => permission);
    everyRole = await makeRole(admin, 'every', permissions);
    const { data } = done(await admin.get<{ user: { userId: number } }>('/system/user/getInfo'));
    adminId = data.user.userId;
    base = await createKnowledge(admin, { name: 'Canaries', embeddingModel: 'sim-embed-256' });
    agent = (await createAgent(admin, model, { share: 0 })).id;
  }, 120_000);

  afterAll(async () => {
    await two.stop();
    await one.stop();
    await provider.stop();
    await simulator.close();
    rmSync(root, { recursive: true, force: true });
  });

  /** Lets the subject alone, or no one, use the base, the agent and the model. */
  async function grantTo(...subjects: string[]): Promise<void> {
    const uses = subjects.map((subject) => ({ subject, level: 'use' }));
    const managed = [{ subject: `user:${adminId}`, level: 'manage' }, ...uses];
    done(await admin.put(`/access/knowledge/${base}`, { grants: managed }));
    done(await admin.put(`/access/agent/${agent}`, { grants: managed }));
    done(await admin.put(`/access/model/${model}`, { grants: uses }));
  }

  /** A user who has the rights, signed in to the second process, and how the first one takes them away. */
  interface Way {
    readonly session: Session;
    readonly takeAway: () => Promise<unknown>;
  }

  const ways: Record<string, () => Promise<Way>> = {
    'as a grant': async () => {
      const { id, session } = await makeUser(two, admin, 'granted', [everyRole]);
      await grantTo(`user:${id}`);
      return { session, takeAway: () => grantTo() };
    },
    'by the directory (SCIM)': async () => {
      const by = await makeRole(admin, 'directory', ['system:scim:provision']);
      const account = { userName: 'directory', roleIds: [by] };
      const { data: userId } = done(await admin.post<number>('/system/user/service', account));
      const permissions = ['system:scim:provision'];
      const key = await makeKey(admin, { userId, permissions, doors: ['scim'] });
      const directory = new Directory(withKey(admin, key));
      const user = await directory.make('Users', { userName: 'scimmed', externalId: 'scimmed' });
      const inner = await directory.make('Groups', {
        displayName: 'Inner',
        members: [{ value: user }],
      });
      const outer = await directory.make('Groups', {
        displayName: 'Outer',
        members: [{ value: inner, type: 'Group' }],
      });
      done(await admin.put('/system/user', { userId: Number(user), roleIds: [everyRole] }));
      const password = { userId: Number(user), password: PASSWORD };
      done(await admin.put('/system/user/resetPwd', password));
      await grantTo(`group:${outer}`);
      return {
        session: await two.signIn('scimmed', PASSWORD),
        takeAway: () => directory.patch(`/Groups/${inner}`, { op: 'remove', path: 'members' }),
      };
    },
    'by the claims of a sign-in (OIDC)': async () => {
      const { publicId } = await connectProvider(admin, provider, {
        groupsClaim: 'groups',
        roleMapping: [{ value: '*', roleId: everyRole }],
      });
      const signIn = (groups: string[]): Promise<Session> => {
        provider.person = { sub: 'claimed', preferred_username: 'claimed', groups };
        return new SsoBrowser(one).signIn(publicId);
      };
      const { headers } = await signIn(['Readers']);
      const { rows } = done(
        await admin.get<{ groupId: number }[]>('/system/group/list?displayName=Readers'),
      );
      await grantTo(`group:${rows[0]?.groupId}`);
      return { session: new Session(two.url, headers), takeAway: () => signIn([]) };
    },
  };

  async function begin(way: string): Promise<Way> {
    const made = await ways[way]?.();
    if (!made) throw new Error(`There is no way ${way}.`);
    return made;
  }

  async function beginRun(session: Session): Promise<string> {
    const created = await session.post<SessionView>('/coding/harness/sessions', {
      workspacePath: join(root, 'example'),
      model: SLOW,
      permissionMode: 'READ_ONLY',
      approvalPolicy: 'NEVER',
      title: 'Example',
      idempotencyKey: freshKey(),
    });
    const path = `/coding/harness/sessions/${done(created).data.sessionId}/runs`;
    const run = { requirement: 'Look around', idempotencyKey: freshKey() };
    return `${path}/${done(await session.post<RunView>(path, run)).data.runId}`;
  }

  it.each(Object.keys(ways))('%s ends what the other has open', async (way) => {
    const { session, takeAway } = await begin(way);
    const search = { knowledgeId: base, query: 'canary' };
    const searched = async (): Promise<number> =>
      (await session.post('/system/fragment/retrieval', search)).code;
    expect(await searched()).toBe(200);
    const chat = await OpenChat.send(session, { model: SLOW, knowledgeId: base, content: 'x' });
    const asked = await OpenChat.send(session, { agentId: agent, content: 'x' });
    const completion = { model: SLOW, stream: true, messages: [{ role: 'user', content: 'x' }] };
    const api = await OpenChat.send(session, completion, '/v1/chat/completions');
    const run = await beginRun(session);
    const events = await EventReader.open(session, `${run}/events/stream`);
    for (const stream of [chat, asked, api]) await stream.until('tok3');
    await eventually(
      () => events.text,
      (text) => text.includes('tok3'),
    );

    await takeAway();

    expect((await chat.rest()).error).toMatch(/may no longer use/);
    expect((await asked.rest()).error).toMatch(/may no longer use/);
    expect((await api.rest()).raw).toMatch(/may no longer use/);
    expect(await searched()).not.toBe(200);
    await eventually(
      () => events.events.at(-1),
      (last) => last?.type === 'run.suspended' && last.data['code'] === 'access_lost',
    );
    done(await session.post(`${run}/cancel`));
    await events.end();
  });
});
