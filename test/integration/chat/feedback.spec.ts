import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import readXlsxFile from 'read-excel-file/node';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { sendChat } from '../../support/chat.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser, roleId } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const QUESTION = 'How long does the warranty of a laptop last?';
const WARRANTY = 'The warranty of every laptop lasts two years from the day of purchase.';

interface Message {
  readonly id: string;
  readonly role: string;
  readonly feedback: { readonly vote: string; readonly text: string | null } | null;
}

interface FeedbackRow {
  readonly id: number;
  readonly vote: string;
  readonly text: string | null;
  readonly question: string | null;
  readonly answer: string;
  readonly agentId: number | null;
  readonly modelName: string;
  readonly userId: number;
  readonly messageId: string;
  readonly sources: { readonly document: string; readonly cited: boolean; readonly fid: string }[];
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let talker: Person;
let base: number;
let other: number;
let agentId: number;
let answerId: string;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const modelId = await createModel(admin, { ...service, modelName: 'sim-chat' });
  const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
  await createModel(admin, { ...service, ...embedding });
  const fields = { embeddingModel: 'sim-embed-256', retrieveLimit: 3 };
  base = await createKnowledge(admin, { ...fields, name: 'Shop' });
  other = await createKnowledge(admin, { ...fields, name: 'Office' });
  await upload(admin, base, [['warranty.txt', WARRANTY]]);
  await settled(admin, base);
  const agent = { agentName: 'Helper', modelId, status: '0', knowledgeIds: [base] };
  const body = { ...agent, knowledgeAs: 'creator' };
  done(await admin.post('/agent/agent', body));
  const agents = await admin.get<{ id: number }[]>('/agent/agent/list');
  agentId = agents.rows[0]?.id ?? 0;
  talker = await makeUser(plinth, admin, 'talker', [await roleId(admin, 'user')]);
  answerId = await answerOf(talker.session);
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function listOf(session: Session): Promise<Message[]> {
  return done(await session.get<Message[]>('/system/message/list')).rows;
}

async function answerOf(session: Session): Promise<string> {
  const { data: sessionId } = done(await session.post<string>('/system/session', {}));
  const reply = await sendChat(session, { agentId, content: QUESTION, sessionId });
  expect([reply.error, reply.done]).toEqual([undefined, true]);
  const answer = (await listOf(session)).find(({ role }) => role === 'assistant');
  return answer?.id ?? '';
}

async function feedback(query = '', session = admin): Promise<FeedbackRow[]> {
  return done(await session.get<FeedbackRow[]>(`/chat/feedback/list${query}`)).rows;
}

it('is one vote of a user on an own answer, which they see and can change and remove', async () => {
  const { session } = talker;
  done(await session.put(`/chat/feedback/${answerId}`, { vote: 'down', text: ' Too short. ' }));
  const [shown] = (await listOf(session)).filter(({ id }) => id === answerId);
  expect(shown?.feedback).toEqual({ vote: 'down', text: 'Too short.' });

  done(await session.put(`/chat/feedback/${answerId}`, { vote: 'up' }));
  const { data } = done(await session.get<Message>(`/system/message/${answerId}`));
  expect(data.feedback).toEqual({ vote: 'up', text: null });
  expect(await feedback()).toHaveLength(1);

  done(await session.delete(`/chat/feedback/${answerId}`));
  expect((await session.delete(`/chat/feedback/${answerId}`)).code).toBe(404);
  expect((await listOf(session)).every((one) => one.feedback === null)).toBe(true);
  expect(await feedback()).toEqual([]);
});

it('is refused for a question, for the answer of another user, and without a vote', async () => {
  const { session } = talker;
  const question = (await listOf(session)).find(({ role }) => role === 'user');
  const refused = await session.put(`/chat/feedback/${question?.id}`, { vote: 'up' });
  expect([refused.code, refused.msg]).toEqual([400, expect.stringContaining('about answers')]);
  expect((await admin.put(`/chat/feedback/${answerId}`, { vote: 'up' })).code).toBe(404);
  expect((await session.put(`/chat/feedback/${answerId}`, { vote: 'maybe' })).msg).toBe(
    'vote must be one of up, down',
  );
  const long = { vote: 'up', text: 'x'.repeat(2_001) };
  expect((await session.put(`/chat/feedback/${answerId}`, long)).code).toBe(400);
});

describe('the list for administrators', () => {
  beforeAll(async () => {
    const { session } = talker;
    done(await session.put(`/chat/feedback/${answerId}`, { vote: 'down', text: 'Wrong.' }));
    const own = await answerOf(admin);
    done(await admin.put(`/chat/feedback/${own}`, { vote: 'up' }));
  });

  it('has question, answer and sources, and filters', async () => {
    const rows = await feedback();
    expect(rows.map(({ vote }) => vote)).toEqual(['up', 'down']);
    expect(rows[1]).toMatchObject({
      userId: talker.id,
      userName: talker.name,
      messageId: answerId,
      text: 'Wrong.',
      question: QUESTION,
      answer: expect.stringContaining('two years'),
      agentId,
      modelName: 'sim-chat',
      sources: [{ document: 'warranty.txt', cited: true }],
    });
    const votes = async (query: string): Promise<string[]> =>
      (await feedback(query)).map(({ vote }) => vote);
    expect(await votes('?vote=down')).toEqual(['down']);
    expect(await votes(`?agentId=${agentId}&modelName=SIM`)).toEqual(['up', 'down']);
    expect(await votes(`?agentId=${agentId + 1}`)).toEqual([]);
    expect(await votes('?modelName=else')).toEqual([]);
    expect(await votes('?params[endTime]=2020-01-01')).toEqual([]);
    expect(await votes('?params[beginTime]=2020-01-01&orderByColumn=vote&isAsc=asc')).toEqual([
      'down',
      'up',
    ]);
  });

  it('needs its permission, and so does the workbook', async () => {
    expect((await talker.session.get('/chat/feedback/list')).code).toBe(403);
    expect((await talker.session.post('/chat/feedback/export', {})).code).toBe(403);
    const role = await makeRole(admin, 'reader', ['chat:feedback:list']);
    const reader = await makeUser(plinth, admin, 'reader', [role]);
    const rows = await feedback('', reader.session);
    expect(rows).toHaveLength(2);
    const path = `/chat/feedback/${rows[0]?.id}/testQuery`;
    const denied = await reader.session.post(path, { knowledgeId: base });
    expect([denied.code, denied.msg]).toEqual([403, expect.stringContaining('system:info:edit')]);
  });

  it('is exported with its filters', async () => {
    const response = await fetch(`${admin.url}/chat/feedback/export`, {
      method: 'POST',
      headers: { ...admin.headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'vote=down',
    });
    const [sheet] = await readXlsxFile(Buffer.from(await response.arrayBuffer()));
    const [header = [], ...rows] = (sheet?.data ?? []) as unknown[][];
    const cell = (name: string): unknown => rows[0]?.[header.indexOf(name)];
    expect(rows).toHaveLength(1);
    expect([cell('Vote'), cell('Text'), cell('Question')]).toEqual(['Down', 'Wrong.', QUESTION]);
    expect(cell('Sources')).toBe('[1] warranty.txt');
  });
});

describe('a test query from feedback', () => {
  async function first(): Promise<FeedbackRow> {
    const [row] = await feedback('?vote=down');
    if (!row) throw new Error('There is no feedback.');
    return row;
  }

  it('expects what the answer cites from the base', async () => {
    const row = await first();
    const path = `/chat/feedback/${row.id}/testQuery`;
    const { data } = done(
      await admin.post<{ query: string; queryId: string; expected: object[] }>(path, {
        knowledgeId: base,
      }),
    );
    expect(data).toMatchObject({
      query: QUESTION,
      queryId: `feedback-${row.id}`,
      expected: [{ fid: row.sources[0]?.fid, relevance: 1, sourceName: 'warranty.txt' }],
    });
    const list = await admin.get<object[]>(`/system/info/${base}/testset/list`);
    expect(list.rows).toHaveLength(1);
    const again = await admin.post(path, { knowledgeId: base });
    expect([again.code, again.msg]).toEqual([409, expect.stringContaining('already has a query')]);
  });

  it('needs a base from which the answer cites, which the caller may change', async () => {
    const row = await first();
    const path = `/chat/feedback/${row.id}/testQuery`;
    const empty = await admin.post(path, { knowledgeId: other });
    expect([empty.code, empty.msg]).toEqual([400, expect.stringContaining('cites nothing')]);
    expect((await admin.post(path, { knowledgeId: 987_654 })).code).toBe(404);
    const role = await makeRole(admin, 'editor', ['chat:feedback:list', 'system:info:edit']);
    const editor = await makeUser(plinth, admin, 'editor', [role]);
    expect((await editor.session.post(path, { knowledgeId: base })).code).toBe(404);
  });

  it('expects the document of a fragment that was parsed again', async () => {
    const own = (await feedback('?vote=up'))[0];
    done(await admin.post(`/system/attach/reparse/knowledge/${base}`));
    const [document] = await settled(admin, base);
    const { data } = done(
      await admin.post<{ expected: object[] }>(`/chat/feedback/${own?.id}/testQuery`, {
        knowledgeId: base,
      }),
    );
    expect(data.expected).toMatchObject([{ docId: document?.docId }]);
  });
});

it('is deleted with its answer', async () => {
  const rows = await feedback();
  expect(rows).toHaveLength(2);
  done(await talker.session.delete(`/system/message/${answerId}`));
  expect(await feedback()).toHaveLength(1);
  const left = await plinth.app
    .get(Database)
    .query('SELECT id FROM chat_feedback WHERE tenant_id = $1', ['000000']);
  expect(left).toHaveLength(1);
});
