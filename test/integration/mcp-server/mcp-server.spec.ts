import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TOOLS } from '../../../src/mcp-server/tools.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { closeCompatibleApi, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import {
  callTool,
  connectMcp,
  OLDER_REVISIONS,
  REVISION,
  textOf,
} from '../../support/mcp-client.js';
import { done } from '../../support/people.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

let world: CompatibleApi;

beforeAll(async () => {
  world = await openCompatibleApi({ PUBLIC_URL: 'https://ai.example.com' });
});

afterAll(() => closeCompatibleApi(world));

async function keyWith(...permissions: string[]): Promise<Session> {
  const { admin } = world;
  return withKey(admin, await makeKey(admin, { permissions }));
}

async function toolNames(session: Session): Promise<string[]> {
  const client = await connectMcp(session);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

describe.each([REVISION, ...OLDER_REVISIONS])('revision %s', (revision) => {
  it('lists the tools, searches a knowledge base and asks an agent with progress', async () => {
    const client = await connectMcp(world.admin, revision);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'plinth' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));

    const { knowledgeId, agentId } = world;
    const found = await client.callTool({
      name: 'search_knowledge',
      arguments: { knowledgeId, query: 'How long is the warranty?' },
    });
    expect(found.isError).toBeFalsy();
    expect(found.structuredContent).toMatchObject({
      data: [{ content: 'The warranty of every laptop lasts two years.' }],
    });

    const messages: string[] = [];
    const answered = await client.callTool(
      { name: 'ask_agent', arguments: { agentId, question: 'How long is the warranty?' } },
      { onprogress: ({ message }) => void messages.push(message ?? '') },
    );
    const { answer, sources } = answered.structuredContent as {
      answer: string;
      sources: { docName: string }[];
    };
    expect(answer).not.toBe('');
    expect(messages.length).toBeGreaterThan(0);
    expect(answer.startsWith(messages.join(''))).toBe(true);
    expect(sources.length).toBe(1);
    await client.close();
  });
});

describe('a tool', () => {
  it('has a schema made from the input of its route, and hints', async () => {
    const client = await connectMcp(world.admin);
    const { tools } = await client.listTools();
    const search = tools.find(({ name }) => name === 'search_knowledge');
    expect(search).toMatchObject({
      title: 'Search a knowledge base',
      annotations: { readOnlyHint: true },
      inputSchema: {
        type: 'object',
        required: ['knowledgeId', 'query'],
        additionalProperties: false,
        properties: {
          knowledgeId: { type: 'integer', minimum: 1 },
          query: { type: 'string', maxLength: 100_000 },
          topK: { type: 'integer', minimum: 1 },
        },
      },
    });
    const decide = tools.find(({ name }) => name === 'decide_approval');
    expect(decide?.inputSchema.required).toEqual([
      ...['sessionId', 'runId', 'approvalId'],
      ...['decisionId', 'decision', 'expectedRevision', 'argumentsSha256'],
    ]);
    await client.close();
  });

  it('reads a document that a list names', async () => {
    const { admin, knowledgeId } = world;
    const { result: listed } = await callTool(admin, 'list_documents', { knowledgeId });
    const { rows } = (listed?.structuredContent ?? {}) as { rows: { docId: string }[] };
    const { result } = await callTool(admin, 'read_document', { docId: rows[0]?.docId });
    expect(result?.structuredContent).toMatchObject({
      total: 1,
      rows: [{ content: 'The warranty of every laptop lasts two years.' }],
    });
  });

  it('says what is wrong with its arguments, as its route does', async () => {
    const { admin, knowledgeId } = world;
    const wrong = await callTool(admin, 'search_knowledge', { knowledgeId, query: 'x', topK: 0 });
    expect(wrong.result).toMatchObject({ isError: true });
    const route = await admin.post('/system/fragment/retrieval', {
      knowledgeId,
      query: 'x',
      topK: 0,
    });
    expect(textOf(wrong.result ?? { content: [] })).toBe(route.msg);
    const unknown = await callTool(admin, 'list_agents', { colour: 'red' });
    expect(textOf(unknown.result ?? { content: [] })).toContain('no argument colour');
    const chinese = await callTool(admin.inLanguage('zh-CN'), 'search_knowledge', { query: 'x' });
    expect(textOf(chinese.result ?? { content: [] })).toMatch(/[一-龥]/);
  });
});

describe('the rights of a key', () => {
  it('decide which tools there are', async () => {
    expect(await toolNames(await keyWith())).toEqual([]);
    expect(await toolNames(await keyWith('system:info:list'))).toEqual(['list_knowledge_bases']);
    expect(await toolNames(await keyWith('chat:chat:use'))).toEqual(['list_agents', 'ask_agent']);
    const harness = await toolNames(await keyWith('coding:harness:use'));
    expect(harness).toContain('read_run_events');
    expect(harness).not.toContain('decide_approval');
    const approver = await keyWith('coding:harness:use', 'coding:harness:approve');
    expect(await toolNames(approver)).toContain('decide_approval');
  });

  it('refuse a tool that is not listed like one that does not exist', async () => {
    const key = await keyWith('system:info:list');
    const neutral = (text: string, name: string): string => text.replaceAll(name, '#');
    const hidden = await callTool(key, 'ask_agent', { agentId: 1, question: 'x' });
    const missing = await callTool(key, 'no_such_tool');
    expect(neutral(hidden.text, 'ask_agent')).toBe(neutral(missing.text, 'no_such_tool'));
    expect(JSON.parse(missing.text)).toMatchObject({ error: { code: -32_602 } });
  });

  it('limit records and interfaces, and are counted as usage of the interface', async () => {
    const { admin, agentId, knowledgeId } = world;
    const permissions = ['chat:chat:use', 'system:fragment:list'];
    const limited = withKey(
      admin,
      await makeKey(admin, { permissions, agentIds: [], doors: ['mcp'] }),
    );
    const { result } = await callTool(limited, 'ask_agent', { agentId, question: 'x' });
    expect(result?.isError).toBe(true);
    const elsewhere = await limited.post('/system/fragment/retrieval', { knowledgeId, query: 'x' });
    expect(elsewhere.code).toBe(403);

    const key = await makeKey(admin, { permissions, doors: ['mcp'] });
    const asked = await callTool(withKey(admin, key), 'ask_agent', { agentId, question: 'x' });
    expect(asked.result?.isError).toBeFalsy();
    const path = `/monitor/usage?groupBy=door&door=mcp&apiKeyId=${key.id}`;
    await eventually(
      async () => done(await admin.get<{ total: { calls: number } }>(path)).data.total,
      ({ calls }) => calls > 0,
    );
    const rest = withKey(admin, await makeKey(admin, { permissions, doors: ['rest'] }));
    expect((await callTool(rest, 'list_agents')).status).toBe(403);
  });
});

describe('a refusal before the protocol', () => {
  it('names the metadata of the resource to a client without a key', async () => {
    const { plinth } = world;
    for (const session of [
      plinth.anonymous(),
      withKey(world.admin, { key: `sk-plinth-${'0'.repeat(16)}-${'0'.repeat(64)}-00000000` }),
    ]) {
      const { status, headers, text } = await session.raw('POST', '/mcp', { jsonrpc: '2.0' });
      expect(status).toBe(401);
      const address = 'https://ai.example.com/.well-known/oauth-protected-resource/mcp';
      expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="${address}"`);
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32_000 } });
    }
    const metadata = await plinth
      .anonymous()
      .raw('GET', '/.well-known/oauth-protected-resource/mcp');
    expect(JSON.parse(metadata.text)).toMatchObject({ resource: 'https://ai.example.com/mcp' });
  });

  it('has no other method, no batches and no pages of other origins', async () => {
    const { admin } = world;
    const { status, headers } = await admin.raw('GET', '/mcp');
    expect({ status, allow: headers['allow'] }).toEqual({ status: 405, allow: 'POST' });
    expect((await admin.raw('DELETE', '/mcp')).status).toBe(405);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await admin.raw('POST', '/mcp', [ping, ping])).status).toBe(400);
    const accept = 'application/json, text/event-stream';
    for (const [origin, expected] of [
      ['https://evil.example', 403],
      ['null', 403],
      ['https://ai.example.com', 200],
      ['http://localhost:6274', 200],
    ] as const) {
      const answer = await admin.raw('POST', '/mcp', ping, { origin, accept });
      expect({ origin, status: answer.status }).toEqual({ origin, status: expected });
    }
  });
});
