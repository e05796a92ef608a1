import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { createAgent } from '../../support/agents.js';
import { sendChat } from '../../support/chat.js';
import { MANY_TOOLS } from '../../support/many-tools.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { calling } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { answering, TestToolServer } from '../../support/tool-server.js';

interface ToolRow {
  readonly id: number;
  readonly listedHash: string;
}

const askedBody = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string().nullable() })),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })),
});
type Asked = z.output<typeof askedBody>;

let plinth: Plinth;
let admin: Session;
let simulator: Simulator;
let agentId: number;
const servers: TestToolServer[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const modelId = await createModel(admin, { ...service, modelName: 'many-tools' });
  const mcpToolIds: number[] = [];
  for (const [name, tools] of Object.entries(MANY_TOOLS)) {
    const server = await TestToolServer.start();
    servers.push(server);
    for (const [tool, description] of tools) {
      const { run } = answering(`${tool} of ${name} has answered.`);
      server.tools.set(tool, { description, annotations: { readOnlyHint: true }, run });
    }
    const body = { name, address: server.address };
    const { id } = done(await admin.post<{ id: number }>('/mcp/server', body)).data;
    done(await admin.post(`/mcp/server/${id}/check`, {}));
    const rows = done(await admin.get<ToolRow[]>(`/mcp/server/${id}/tool`)).data;
    const accepts = rows.map((row) => ({ id: row.id, accept: row.listedHash }));
    done(await admin.put(`/mcp/server/${id}/tool`, { tools: accepts }));
    mcpToolIds.push(...rows.map((row) => row.id));
  }
  expect(mcpToolIds).toHaveLength(200);
  const fields = { runtime: 'tools', tools: ['current_time'], mcpToolIds };
  agentId = (await createAgent(admin, modelId, fields)).id;
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
  await Promise.all(servers.map((server) => server.close()));
});

const asked = (): Asked[] => simulator.requests.map(({ body }) => askedBody.parse(body));
const namesIn = ({ tools }: Asked): string[] => tools.map((tool) => tool.function.name);

it('an agent with 200 tools on three servers finds the right one and answers with it', async () => {
  const sessionId = done(await admin.post<string>('/system/session', {})).data;
  simulator.script(
    calling('create_refund', { text: 'order 7' }),
    calling('find_tools', { query: 'create a refund' }),
    calling('create_refund', { text: 'order 7' }),
    { text: 'Refunded.' },
  );
  const body = { content: 'Give order 7 its money back', agentId, sessionId };
  expect((await sendChat(admin, body)).text).toBe('Refunded.');
  const [first, second, third, last] = asked();
  if (!first || !second || !third || !last) throw new Error('The model was asked too little.');
  expect(namesIn(first)).toEqual(['current_time', 'find_tools']);
  expect(second.messages.at(-1)?.content).toContain('There is no tool "create_refund"');
  expect(third.messages.at(-1)?.content).toMatch(/^These tools .*\n- create_refund: Creates/);
  expect(namesIn(third).length).toBeLessThanOrEqual(12);
  expect(last.messages.at(-1)?.content).toContain('create_refund of shop has answered.');
  expect(servers.map((server) => server.calls)).toEqual([
    [],
    [{ tool: 'create_refund', text: 'order 7' }],
    [],
  ]);

  // The next question of the chat begins with the tools that were found.
  simulator.reset();
  simulator.script({ text: 'You are welcome.' });
  await sendChat(admin, { content: 'Thank you', agentId, sessionId });
  expect(asked().flatMap(namesIn)).toEqual(namesIn(last));
});
