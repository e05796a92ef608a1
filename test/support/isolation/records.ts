import { randomUUID } from 'node:crypto';
import { Database } from '../../../src/platform/database/index.js';
import { makeKey } from '../api-keys.js';
import { canary } from '../canary.js';
import { PIXELS, uploadFile } from '../chat-files.js';
import { createProvider } from '../models.js';
import { done, makeRole, PASSWORD } from '../people.js';
import { recordResponse } from '../recorded-response.js';
import type { Answer, Session } from '../session.js';
import { eventually } from '../wait.js';
import { COMMON_MODEL, COMMON_PROVIDER } from './world.js';
import type { Member, World } from './world.js';

/** A sort of record that an id names. */
export interface RecordKind {
  /** Who alone may see it: everybody of a tenant, one user, or those who run the installation. */
  readonly owner: 'tenant' | 'user' | 'installation';
  /** A super administrator may leave it to others by giving them the permission. */
  readonly delegable?: true;
  /** It is one user's, but super administrators who act in the tenant may see it too. */
  readonly supervised?: true;
  /** Makes one and answers the id that requests name it by. */
  readonly make: (by: Member, world: World) => Promise<string>;
  /** An id that names none. */
  readonly missing: string;
}

const NO_ID = '987654321';
let made = 0;
let mark = '';

/** A name that nothing else has. */
export function fresh(start: string): string {
  made += 1;
  return `${start}${mark}${made}`;
}

/** From now on the texts of what is made hold this, to be found again; lower-case letters only. */
export function markWith(letters: string): void {
  mark = letters;
}

export function idOf(answer: Answer<{ id: number }>): string {
  return String(done(answer).data.id);
}

async function listed<Row extends object>(
  { session }: Member,
  path: string,
  isMeant: (row: Row) => boolean,
): Promise<Row> {
  const { rows } = done(await session.get<Row[]>(path));
  const row = rows.find(isMeant);
  if (!row) throw new Error(`What was made is not in ${path}.`);
  return row;
}

export const user: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by) => {
    const userName = fresh('user');
    done(await by.session.post('/system/user', { userName, password: PASSWORD }));
    const row = await listed<{ userId: number; userName: string }>(
      by,
      `/system/user/list?userName=${userName}`,
      (one) => one.userName === userName,
    );
    return String(row.userId);
  },
};

/** A user under legal hold. */
export const heldUser: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const id = await user.make(by, world);
    done(await by.session.put(`/system/retention/hold/${id}`, { reason: 'Proceedings' }));
    return id;
  },
};

export const role: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) =>
    String(await makeRole(session, fresh('role'), ['system:model:list'])),
};

export const provider: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) =>
    idOf(
      await session.post('/system/provider', {
        providerName: 'Provider',
        providerCode: fresh('code'),
      }),
    ),
};

/** Named by its code. */
export const providerCode: RecordKind = {
  owner: 'tenant',
  missing: 'no-such-code',
  make: async ({ session }) => {
    const code = fresh('code');
    await createProvider(session, code);
    const fields = { modelName: fresh('model'), apiHost: 'http://127.0.0.1:9', apiKey: '' };
    done(await session.post('/system/model', { providerCode: code, category: 'chat', ...fields }));
    return code;
  },
};

function modelFields(): Record<string, string> {
  return {
    providerCode: COMMON_PROVIDER,
    category: 'chat',
    modelName: fresh('model'),
    apiHost: 'http://127.0.0.1:9',
    apiKey: canary.plant('isolation'),
  };
}

export const model: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => idOf(await session.post('/system/model', modelFields())),
};

/** A further key of a model. */
export const modelKey: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => {
    const keys = [{ label: 'Second', apiKey: canary.plant('isolation') }];
    const fields = { ...modelFields(), keys };
    const { data } = done(await session.post<{ keys: { id: number }[] }>('/system/model', fields));
    return String(data.keys[0]?.id);
  },
};

/** Everybody of the tenant may use it. */
export const agent: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const modelId = await model.make(by, world);
    return idOf(await by.session.post('/agent/agent', { agentName: fresh('agent'), modelId }));
  },
};

/** Named by its name. */
export const modelName: RecordKind = {
  owner: 'tenant',
  missing: 'no-such-model',
  make: async ({ session }) => {
    const fields = modelFields();
    done(await session.post('/system/model', fields));
    return fields['modelName'] ?? '';
  },
};

/** Named by the text that its entries carry. */
export const dictionaryTypeName: RecordKind = {
  owner: 'tenant',
  missing: 'no_such_type',
  make: async ({ session }) => {
    const dictType = fresh('type_');
    done(await session.post('/system/dict/type', { dictName: 'Type', dictType }));
    const entry = { dictType, dictLabel: 'Entry', dictValue: 'entry' };
    done(await session.post('/system/dict/data', entry));
    return dictType;
  },
};

export const dictionaryType: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => {
    const body = { dictName: 'Type', dictType: fresh('type_') };
    return String(done(await session.post<number>('/system/dict/type', body)).data);
  },
};

export const dictionaryEntry: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const dictType = await dictionaryTypeName.make(by, world);
    const body = { dictType, dictLabel: fresh('Entry '), dictValue: fresh('value') };
    return String(done(await by.session.post<number>('/system/dict/data', body)).data);
  },
};

export const file: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => {
    const form = new FormData();
    form.append('file', new Blob(['What the file says.']), `${fresh('note')}.txt`);
    return done(await session.upload<{ ossId: string }>('/resource/oss/upload', form)).data.ossId;
  },
};

/** An upload that was sent in a chat: it is its user's alone from then on. */
export const chatFile: RecordKind = {
  owner: 'user',
  missing: NO_ID,
  make: async (by, world) => {
    const sessionId = await chatSession.make(by, world);
    const id = await uploadFile(by.session, `${fresh('photo')}.png`, PIXELS['image/png']);
    await by.session.raw('POST', '/chat/send', {
      model: COMMON_MODEL,
      content: 'Hello',
      sessionId,
      files: [id],
    });
    return id;
  },
};

export const chatSession: RecordKind = {
  owner: 'user',
  missing: NO_ID,
  make: async ({ session }) => {
    const body = { sessionTitle: fresh('Session ') };
    return done(await session.post<string>('/system/session', body)).data;
  },
};

export const provisionedGroup: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => {
    const { text } = await session.raw('POST', '/scim/v2/Groups', { displayName: fresh('group') });
    return (JSON.parse(text) as { id: string }).id;
  },
};

export const userGroup: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) =>
    String(done(await session.post<number>('/system/group', { displayName: fresh('group') })).data),
};

/** An answer of POST /v1/responses, which only its user may continue. */
export const storedResponse: RecordKind = {
  owner: 'user',
  missing: `resp_${'0'.repeat(32)}`,
  make: ({ session }, { plinth }) => recordResponse(plinth, session, fresh('What was answered ')),
};

/** A conversation of responses, which only its user may continue. */
export const responseConversation: RecordKind = {
  owner: 'user',
  missing: `conv_${'0'.repeat(32)}`,
  make: async ({ session }) => {
    const { text } = await session.raw('POST', '/v1/conversations', { metadata: {} });
    return (JSON.parse(text) as { id: string }).id;
  },
};

/** An item of such a conversation. */
export const conversationItem: RecordKind = {
  owner: 'user',
  missing: `msg_${'0'.repeat(32)}`,
  make: async ({ session }) => {
    const items = [{ role: 'user', content: fresh('What was said ') }];
    const { text } = await session.raw('POST', '/v1/conversations', { items });
    const { id } = JSON.parse(text) as { id: string };
    const list = await session.raw('GET', `/v1/conversations/${id}/items`);
    const { first_id: itemId } = JSON.parse(list.text) as { first_id: string };
    return itemId;
  },
};

async function uploadedFile({ url, headers }: Session): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob(['{}']), `${fresh('requests')}.jsonl`);
  const { 'content-type': _, ...others } = headers;
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers: others, body: form });
  return ((await answer.json()) as { id: string }).id;
}

/** What a batch does after that is nothing. */
async function endOf(session: Session, path: string): Promise<void> {
  await eventually(
    async () => (await session.raw('GET', path)).text,
    (text) => /"(status|processing_status)":"(failed|ended)"/.test(text),
  );
}

/** A file of /v1/files. */
export const apiFile: RecordKind = {
  owner: 'user',
  missing: `file-${'0'.repeat(32)}`,
  make: ({ session }) => uploadedFile(session),
};

/** A batch of such a file. */
export const apiBatch: RecordKind = {
  owner: 'user',
  missing: `batch_${'0'.repeat(32)}`,
  make: async ({ session }) => {
    const { text } = await session.raw('POST', '/v1/batches', {
      ...{ input_file_id: await uploadedFile(session), endpoint: '/v1/chat/completions' },
      completion_window: '24h',
    });
    const { id } = JSON.parse(text) as { id: string };
    await endOf(session, `/v1/batches/${id}`);
    return id;
  },
};

/** A batch of messages. */
export const messageBatch: RecordKind = {
  owner: 'user',
  missing: `msgbatch_${'0'.repeat(32)}`,
  make: async ({ session }) => {
    const requests = [{ custom_id: 'one', params: {} }];
    const { text } = await session.raw('POST', '/v1/messages/batches', { requests });
    const { id } = JSON.parse(text) as { id: string };
    await endOf(session, `/v1/messages/batches/${id}`);
    return id;
  },
};

/** Of a colleague too: the record is one of the tenant, but only its user may see it. */
export const chatMessage: RecordKind = {
  owner: 'user',
  missing: NO_ID,
  make: async (by, world) => {
    const sessionId = await chatSession.make(by, world);
    const body = { sessionId, role: 'user', content: fresh('What was said ') };
    return done(await by.session.post<string>('/system/message', body)).data;
  },
};

/** An answer of a session, by the id that clients vote on. */
export const chatAnswer: RecordKind = {
  owner: 'user',
  missing: NO_ID,
  make: async (by, world) => {
    const sessionId = await chatSession.make(by, world);
    const body = { sessionId, role: 'assistant', content: fresh('What was answered ') };
    return done(await by.session.post<string>('/system/message', body)).data;
  },
};

/** What a user said to an answer, which administrators of the tenant read. */
export const feedback: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const messageId = await chatAnswer.make(by, world);
    const text = fresh('What was thought ');
    done(await by.session.put(`/chat/feedback/${messageId}`, { vote: 'down', text }));
    const { id } = await listed<{ id: number; text: string | null }>(
      by,
      '/chat/feedback/list',
      (one) => one.text === text,
    );
    return String(id);
  },
};

/** A sign-in, which administrators of the tenant may end. */
export const signIn: RecordKind = {
  owner: 'tenant',
  missing: randomUUID(),
  make: async ({ name, tenantId }, { plinth }) => {
    const session = await plinth.signIn(name, PASSWORD, tenantId);
    const { rows } = done(
      await session.get<{ tokenId: string; current: boolean }[]>('/monitor/online'),
    );
    const own = rows.find(({ current }) => current);
    if (!own) throw new Error('The sign-in is not among the own ones.');
    return own.tokenId;
  },
};

/** The same as the user's own. */
export const ownSignIn: RecordKind = { ...signIn, owner: 'user' };

/** An API key, which administrators of the tenant may see and revoke. */
export const apiKey: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => String((await makeKey(session, { name: fresh('key') })).id),
};

export const schedule: RecordKind = {
  owner: 'user',
  missing: NO_ID,
  make: async ({ session }) => {
    const task = { name: fresh('Schedule '), kind: 'chat', message: 'Hello', model: COMMON_MODEL };
    return idOf(await session.post('/schedule', { ...task, cron: '0 6 * * *' }));
  },
};

export const searchProvider: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by) => {
    const address = `https://search.example.com/${fresh('search')}`;
    const fields = { name: 'Search', code: 'searxng', address };
    return idOf(await by.session.post('/system/search', fields));
  },
};

export const noticeTarget: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by) => {
    const address = `https://hooks.example.com/${fresh('hook')}`;
    return idOf(await by.session.post('/system/limit/target', { kind: 'webhook', address }));
  },
};

/** A limit of a model of its own, which no call reaches. */
export const limit: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const modelId = await model.make(by, world);
    const fields = { scope: 'model', modelId, measure: 'tokens-month', cap: 1_000_000_000 };
    return idOf(await by.session.post('/system/limit', fields));
  },
};

/** A provider of sign-ins. */
export const ssoProvider: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async ({ session }) => {
    const fields = { name: fresh('provider'), issuer: 'http://127.0.0.1:9', clientId: 'plinth' };
    return String(done(await session.post<number>('/system/sso', fields)).data);
  },
};

export const toolServer: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by) => {
    const name = fresh('server');
    const address = `https://tools.example.com/${name}`;
    return idOf(await by.session.post('/mcp/server', { name, address }));
  },
};

/** A tool of a server of its own, as if the server had listed it and somebody accepted it. */
export const serverTool: RecordKind = {
  owner: 'tenant',
  missing: NO_ID,
  make: async (by, world) => {
    const serverId = await toolServer.make(by, world);
    const text = { description: fresh('tool'), inputSchema: { type: 'object' }, annotations: {} };
    const [tool] = await world.plinth.app.get(Database).query<{ id: number }>(
      `INSERT INTO server_tool (tenant_id, server_id, name, accepted, accepted_hash, listed, listed_hash, consent)
         VALUES ($1, $2, $3, $4, $5, $4, $5, 'always') RETURNING id`,
      [by.tenantId, serverId, fresh('tool'), text, 'a'.repeat(64)],
    );
    return String(tool?.id);
  },
};

/** Named by the number of its row. */
export const tenant: RecordKind = {
  owner: 'installation',
  missing: NO_ID,
  make: async (by) => {
    made += 1;
    // Given ids have six digits; the installation gives out such as do not begin with 0.
    const tenantId = String(made).padStart(6, '0');
    const row = { tenantId, companyName: 'Company', username: 'boss', password: PASSWORD };
    done(await by.session.post('/system/tenant', row));
    const { id } = await listed<{ id: number }>(
      by,
      `/system/tenant/list?tenantId=${tenantId}`,
      () => true,
    );
    return String(id);
  },
};

/** Named by the six digits that people sign in with. */
export const tenantNumber: RecordKind = {
  owner: 'installation',
  missing: '999999',
  make: async () => '300002',
};

export const client: RecordKind = {
  owner: 'installation',
  delegable: true,
  missing: NO_ID,
  make: async (by) => {
    const clientKey = fresh('client');
    const row = { clientKey, clientSecret: fresh('of-a-client-'), grantTypeList: ['password'] };
    done(await by.session.post('/system/client', row));
    const { id } = await listed<{ id: number; clientKey: string }>(
      by,
      `/system/client/list?clientKey=${clientKey}`,
      (one) => one.clientKey === clientKey,
    );
    return String(id);
  },
};

/** Named by the text that people sign in with. */
export const clientNumber: RecordKind = {
  owner: 'installation',
  delegable: true,
  missing: 'no-such-client',
  make: async () => '428a8310cd442757ae699df5d894f051',
};
