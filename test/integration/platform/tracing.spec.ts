import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../../src/app.js';
import { CONFIG, loadConfig } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { sendChat } from '../../support/chat.js';
import { CODER, Harness } from '../../support/harness.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { OtlpCollector } from '../../support/otlp-collector.js';
import type { CollectedSpan } from '../../support/otlp-collector.js';
import { CALLS, ParkedRuns } from '../../support/parked-runs.js';
import { Plinth } from '../../support/plinth.js';
import { calling } from '../../support/scripted-model.js';
import { SECRET_KEY } from '../../support/template.js';
import { answering, TestToolServer } from '../../support/tool-server.js';
import { eventually } from '../../support/wait.js';

const CALLER = '4bf92f3577b34da6a3ce929d0e0e4736';
const QUESTION = 'How long is the warranty of a laptop?';
const isOnServers = Boolean(process.env['DATABASE_URL'] && process.env['REDIS_URL']);

describe('traces', () => {
  let collector: OtlpCollector;
  let harness: Harness;
  let worker: NestExpressApplication | undefined;
  let modelId: number;
  let agentId: number;
  let baseId: number;

  beforeAll(async () => {
    collector = await OtlpCollector.start();
    const tracing = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/api/public/otel`,
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20cGstbGYtMTpzay1sZi0x',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      TRACE_MODEL_CALLS: 'on',
    };
    harness = await Harness.start({
      environment: { ...tracing, ...(isOnServers && { ROLE: 'api' }) },
    });
    if (isOnServers)
      worker = await startWorker(harness.plinth, { ...tracing, HARNESS_ROOTS: harness.root });
    const { session, simulator } = harness;
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    modelId = await createModel(session, { ...service, modelName: 'agent-model' });
    await createModel(session, {
      ...service,
      ...{ category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' },
    });
    baseId = await createKnowledge(session, {
      ...{ name: 'Shop', embeddingModel: 'sim-embed-256', enableHybrid: 1 },
    });
    await upload(session, baseId, [
      ['warranty.txt', 'The warranty of every laptop lasts two years.'],
    ]);
    await settled(session, baseId);
    const agent = { runtime: 'tools', tools: ['search_knowledge'], knowledgeIds: [baseId] };
    agentId = (await createAgent(session, modelId, agent)).id;
  });

  afterAll(async () => {
    await worker?.close();
    await harness.plinth.stop();
    await harness.simulator.close();
    await collector.close();
  });

  /** The whole trace, once its first span has arrived: it ends last. */
  async function whole(
    traceId: string,
    isLast = (span: CollectedSpan) => span.kind === 2,
  ): Promise<CollectedSpan[]> {
    await eventually(() => collector.trace(traceId).some(isLast), Boolean);
    return collector.trace(traceId);
  }

  async function ask(question: string, headers: Record<string, string> = {}): Promise<string> {
    harness.script(
      { match: { path: '/chat/completions' }, ...calling('search_knowledge', { query: question }) },
      { match: { path: '/chat/completions' }, text: 'Two years.' },
    );
    const reply = await sendChat(
      harness.session,
      {
        model: 'agent-model',
        agentId,
        content: question,
      },
      headers,
    );
    const last = reply.frames.findLast(({ event }) => event === 'done');
    return String((last?.data as { traceId?: string } | undefined)?.traceId);
  }

  it('have a turn with its retrieval, tool, models and statements below its request', async () => {
    const traceId = await ask(QUESTION, { traceparent: `00-${CALLER}-00f067aa0ba902b7-01` });
    expect(traceId).toBe(CALLER);
    const spans = await whole(traceId);

    const paths = spans
      .filter(({ attributes }) => attributes['db.system.name'] === undefined)
      .map((span) => collector.pathOf(span).join(' > '))
      .sort();
    const turn = 'POST /chat/send > invoke_agent';
    const tool = `${turn} > execute_tool search_knowledge`;
    expect(paths).toEqual(
      [
        'POST /chat/send',
        turn,
        `${turn} > chat agent-model`,
        `${turn} > chat agent-model`,
        tool,
        `${tool} > retrieval`,
        `${tool} > retrieval > keyword search`,
        `${tool} > retrieval > vector search`,
        `${tool} > retrieval > vector search > embeddings sim-embed-256`,
      ].sort(),
    );

    const [request] = spans.filter(({ kind }) => kind === 2);
    expect(request).toMatchObject({
      parentId: '00f067aa0ba902b7',
      attributes: { 'http.route': '/chat/send', 'plinth.tenant.id': '000000' },
      resource: { 'service.name': 'plinth', 'deployment.environment.name': 'test' },
    });
    const models = spans.filter(({ name }) => name === 'chat agent-model');
    expect(models[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'custom_api',
      'gen_ai.request.model': 'agent-model',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'gen_ai.response.finish_reasons': [expect.any(String)],
      'server.address': '127.0.0.1',
    });
    const statements = spans.filter(({ attributes }) => attributes['db.system.name']);
    expect(statements.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['SELECT model', 'INSERT chat_message', 'SELECT keyword_block']),
    );
    expect(JSON.stringify(spans)).not.toContain('warranty');
    expect(JSON.stringify(spans)).not.toContain('Two years');
    // The model service continues the trace.
    const called = harness.simulator.requests.filter(({ path }) =>
      path.endsWith('/chat/completions'),
    );
    const headers = called.slice(-2).map(({ headers: sent }) => sent['traceparent']);
    expect(headers).toEqual(models.map(({ spanId }) => `00-${CALLER}-${spanId}-01`));
  });

  it('are sent as Langfuse takes them', () => {
    // https://langfuse.com/integrations/native/opentelemetry, read 2026-11-28: path and Basic authentication.
    expect(collector.requests[0]).toMatchObject({
      path: '/api/public/otel/v1/traces',
      headers: {
        authorization: 'Basic cGstbGYtMTpzay1sZi0x',
        'content-type': 'application/x-protobuf',
      },
    });
  });

  it('have the content of a tenant that switched it on', async () => {
    const url = '/system/retention';
    const content = (traceContent: boolean): Promise<unknown> =>
      harness.session.put(url, { rules: [], traceContent }).then(done);
    await content(true);
    const has = (spans: readonly CollectedSpan[], text: string): boolean =>
      JSON.stringify(spans).includes(text);
    // The switch may take effect during a turn.
    const spans = await eventually(
      async () => whole(await ask(QUESTION)),
      (collected) =>
        collected.every(
          ({ name, attributes }) =>
            name !== 'chat agent-model' || 'gen_ai.input.messages' in attributes,
        ),
    );
    expect(has(spans, 'Two years')).toBe(true);
    const attributesOf = (name: string): CollectedSpan['attributes'][] =>
      spans.filter((span) => span.name === name).map(({ attributes }) => attributes);
    expect(attributesOf('execute_tool search_knowledge')[0]).toMatchObject({
      'gen_ai.tool.call.arguments': JSON.stringify({ query: QUESTION }),
      'gen_ai.tool.call.result': expect.stringContaining('lasts two years'),
    });
    const [first] = attributesOf('chat agent-model');
    const sent = JSON.parse(String(first?.['gen_ai.input.messages'])) as unknown[];
    expect(sent.at(-1)).toEqual({ role: 'user', parts: [{ type: 'text', content: QUESTION }] });
    await content(false);
    await eventually(
      async () => whole(await ask(QUESTION)),
      (collected) => !has(collected, 'warranty'),
    );
  });

  it('have a run in the trace of the request that created it, across processes', async () => {
    harness.script(calling('read_file', { path: 'src/add.js' }), { text: 'It subtracts.' });
    const { sessionId } = await harness.createSession({
      model: CODER,
      permissionMode: 'READ_ONLY',
    });
    const run = await harness.createRun(sessionId);
    await harness.ended(run);
    const { traceId } = await harness.run(run);
    const spans = await whole(String(traceId), ({ name }) => name === 'invoke_agent');
    const paths = spans
      .filter(({ attributes }) => attributes['db.system.name'] === undefined)
      .map((span) => collector.pathOf(span).join(' > '));
    const job =
      'POST /coding/harness/sessions/:sessionId/runs > process harness.run > invoke_agent > step';
    expect(paths).toContain(`${job} > execute_tool read_file`);
    expect(paths.filter((path) => path === `${job} > chat ${CODER}`)).toHaveLength(2);
    expect(spans.find(({ name }) => name === 'invoke_agent')?.attributes).toMatchObject({
      'gen_ai.agent.name': 'harness',
    });
  });

  it('have an agent at the compatible API, and the effect of its tool with the call of its server', async () => {
    const tools = await TestToolServer.start();
    const { session } = harness;
    try {
      tools.tools.set('send', answering('Sent', { annotations: { destructiveHint: true } }));
      const body = { name: 'post', address: tools.address };
      const { id } = done(await session.post<{ id: number }>('/mcp/server', body)).data;
      done(await session.post(`/mcp/server/${id}/check`, {}));
      const path = `/mcp/server/${id}/tool`;
      const [tool] = done(await session.get<{ id: number; listedHash: string }[]>(path)).data;
      const accepted = { id: tool?.id, accept: tool?.listedHash, consent: 'always' };
      done(await session.put(path, { tools: [accepted] }));
      const agent = await createAgent(session, modelId, {
        runtime: 'tools',
        mcpToolIds: [tool?.id],
      });
      harness.script(
        { match: { path: '/chat/completions' }, ...calling('send', { text: 'Hello' }) },
        { match: { path: '/chat/completions' }, text: 'It is sent.' },
      );
      const { headers, text } = await session.raw('POST', '/v1/chat/completions', {
        model: `agent-${agent.id}`,
        messages: [{ role: 'user', content: 'Send it.' }],
      });
      expect(text).toContain('It is sent.');
      const spans = await whole(String(headers['x-trace-id']));
      const turn = 'POST /v1/chat/completions > invoke_agent';
      const paths = spans.map((span) => collector.pathOf(span).join(' > '));
      expect(paths).toEqual(
        expect.arrayContaining([
          `${turn} > chat agent-model`,
          `${turn} > execute_tool send > tools/call send`,
        ]),
      );
      const attributesOf = (name: string) => spans.find((span) => span.name === name)?.attributes;
      expect(attributesOf('invoke_agent')).toMatchObject({ 'gen_ai.agent.id': String(agent.id) });
      expect(attributesOf('execute_tool send')).toMatchObject({
        'plinth.effect.class': 'TOOL',
        'plinth.effect.id': expect.any(String),
        'plinth.outcome': 'done',
      });
      expect(attributesOf('tools/call send')).toMatchObject({
        'mcp.method.name': 'tools/call',
        'server.address': '127.0.0.1',
      });
      expect(tools.calls).toHaveLength(1);
    } finally {
      await tools.close();
    }
  });

  it('have the recovery of a run in the trace of the run, with each effect that it settles', async () => {
    const traceId = 'c'.repeat(32);
    const { sessionId } = await harness.createSession({ model: CODER });
    const parked = new ParkedRuns(harness.plinth);
    const run = await parked.lost(sessionId, [CALLS.SHELL]);
    await harness.plinth.app
      .get(Database)
      .query('UPDATE harness_run SET traceparent = $2 WHERE tenant_id = $3 AND id = $1', [
        run.runId,
        `00-${traceId}-00f067aa0ba902b7-01`,
        '000000',
      ]);
    await parked.takeUp('000000', run);
    await harness.waitFor(run, 'SUSPENDED');
    const spans = await whole(traceId, ({ name }) => name === 'invoke_agent');
    const settled = spans.find(({ name }) => name === 'settle effect');
    expect(settled && collector.pathOf(settled)).toEqual([
      'invoke_agent',
      'recover',
      'settle effect',
    ]);
    expect(settled?.attributes).toMatchObject({
      'plinth.effect.class': 'SHELL',
      'plinth.outcome': 'UNCERTAIN',
      'gen_ai.tool.call.id': run.toolCallIds[0],
    });
    expect(spans.find(({ name }) => name === 'recover')?.attributes).toMatchObject({
      'plinth.outcome': 'parked',
    });
    done(await harness.post(run, '/cancel'));
  });

  it('leave out what their caller does not sample, and say so by no header', async () => {
    const traceparent = `00-${'a'.repeat(32)}-00f067aa0ba902b7-00`;
    const { url } = harness.plinth;
    const unsampled = await fetch(`${url}/auth/code`, { headers: { traceparent } });
    const sampled = await fetch(`${url}/auth/code`);
    expect(unsampled.headers.get('x-trace-id')).toBeNull();
    const traceId = String(sampled.headers.get('x-trace-id'));
    await whole(traceId);
    expect(collector.trace('a'.repeat(32))).toEqual([]);
    const health = await fetch(`${url}/health/live`);
    expect(health.headers.get('x-trace-id')).toBeNull();
  });

  it('delay nothing while the collector is slow or away, and are logged once', async () => {
    const failures = (): string[] =>
      harness.plinth.log
        .concat(workerLog)
        .filter((line) => line.includes('Failed to export traces'));
    collector.answers = 400;
    await ask(QUESTION);
    await eventually(failures, ({ length }) => length === 1);
    await ask(QUESTION);
    const asked = collector.requests.length;
    await eventually(
      () => collector.requests.length,
      (count) => count > asked,
    );
    expect(failures()).toHaveLength(1);
    collector.answers = 200;
    await whole(await ask(QUESTION));
    // The process stops although the last batch is not answered.
    collector.answers = 'none';
    await ask(QUESTION);
  });
});

it('without OTEL_EXPORTER_OTLP_ENDPOINT no answer names a trace', async () => {
  const plinth = await Plinth.start();
  try {
    const answer = await fetch(`${plinth.url}/auth/code`);
    expect(answer.headers.get('x-trace-id')).toBeNull();
    const session = await plinth.signIn();
    await createProvider(session, 'custom_api');
  } finally {
    await plinth.stop();
  }
});

const workerLog: string[] = [];

/** A second application on the stores of the first one, which runs its jobs. */
async function startWorker(
  { app }: Plinth,
  environment: Record<string, string>,
): Promise<NestExpressApplication> {
  const { DATABASE_URL = '', REDIS_URL = '', REDIS_PREFIX, DATA_DIR } = app.get<Config>(CONFIG);
  const config = loadConfig({
    ...{ ROLE: 'worker', DATABASE_URL, REDIS_URL, REDIS_PREFIX, DATA_DIR, SECRET_KEY },
    ...{ DATABASE_POOL_SIZE: '5', ALLOW_PRIVATE_MODEL_HOSTS: '*', ...environment },
  });
  const worker = await createApp(config, { log: { write: (line) => void workerLog.push(line) } });
  return worker.init();
}
