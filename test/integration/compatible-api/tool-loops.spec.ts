import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { ChatAnthropic } from '@langchain/anthropic';
import { ToolMessage } from '@langchain/core/messages';
import type { BaseMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import type { LanguageModel, ModelMessage } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { createAgent } from '../../support/agents.js';
import { makeKey } from '../../support/api-keys.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { startStrictUpstreams, STRICT_SERVICES } from '../../support/strict-upstreams.js';
import type { StrictService, StrictUpstreams } from '../../support/strict-upstreams.js';

/**
 * Unchanged clients complete two questions with a tool call each, on models that think and that refuse a turn which lacks what
 * they sent before (test/support/strict-upstreams.ts).
 */
const SERVICES = Object.keys(STRICT_SERVICES) as StrictService[];
const QUESTIONS = ['What is the moon', 'And what is the sun'] as const;
const ANSWERS = ['The tool says: moon is far', 'The tool says: sun is far'];
const DESCRIPTION = 'Looks a word up';
const PARAMETERS = {
  type: 'object',
  properties: { word: { type: 'string' } },
  required: ['word'],
} as const;

let upstreams: StrictUpstreams;
let plinth: Plinth;
let admin: Session;
let apiKey: string;
const modelIds = new Map<StrictService, number>();

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  upstreams = await startStrictUpstreams();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  const codes = new Set(SERVICES.map((service) => STRICT_SERVICES[service].providerCode));
  for (const code of codes) await createProvider(admin, code);
  for (const service of SERVICES) {
    const { providerCode, path } = STRICT_SERVICES[service];
    const fields = { modelName: service, apiHost: upstreams.url + path, apiKey: `key-${service}` };
    const contextWindow = 100_000;
    modelIds.set(service, await createModel(admin, { ...fields, providerCode, contextWindow }));
  }
  ({ key: apiKey } = await makeKey(admin, { permissions: ['chat:chat:use'] }));
});

afterEach(() => upstreams.reset());

afterAll(async () => {
  await plinth.stop();
  await upstreams.stop();
});

const farAway = (word: unknown): string => `${String(word)} is far`;

/** Both questions were answered from the tool, and nothing was refused for good. */
function expectLoops(answers: readonly string[]): void {
  expect(answers).toEqual(ANSWERS);
  expect(upstreams.calls).toHaveLength(4);
}

const openai = (): OpenAI => new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });

describe.each(SERVICES)('a model of %s', (model) => {
  it.each([false, true])(
    'is called by openai with chat completions (stream: %s)',
    async (stream) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [];
      const tools: OpenAI.ChatCompletionTool[] = [
        {
          type: 'function',
          function: { name: 'look_up', description: DESCRIPTION, parameters: PARAMETERS },
        },
      ];
      const ask = async (): Promise<OpenAI.ChatCompletionMessage> => {
        if (!stream) {
          const { choices } = await openai().chat.completions.create({ model, messages, tools });
          return answered(choices[0]?.message);
        }
        const chunks = await openai().chat.completions.create({ model, messages, tools, stream });
        return collected(chunks);
      };
      const answers: string[] = [];
      for (const content of QUESTIONS) {
        messages.push({ role: 'user', content });
        const first = await ask();
        messages.push(first);
        for (const call of first.tool_calls ?? []) {
          if (call.type !== 'function') continue;
          const { word } = JSON.parse(call.function.arguments) as { word: string };
          messages.push({ role: 'tool', tool_call_id: call.id, content: farAway(word) });
        }
        const second = await ask();
        messages.push(second);
        answers.push(second.content ?? '');
      }
      expectLoops(answers);
    },
  );

  it.each(['previous_response_id', 'input items'])(
    'is called by openai with responses and %s',
    async (how) => {
      const isStored = how === 'previous_response_id';
      const tools: OpenAI.Responses.Tool[] = [
        {
          type: 'function',
          name: 'look_up',
          description: DESCRIPTION,
          parameters: PARAMETERS,
          strict: false,
        },
      ];
      const items: OpenAI.Responses.ResponseInput = [];
      let previous: string | undefined;
      const ask = async (
        input: OpenAI.Responses.ResponseInput,
      ): Promise<OpenAI.Responses.Response> => {
        items.push(...input);
        const response = await openai().responses.create(
          isStored
            ? { model, tools, input, ...(previous && { previous_response_id: previous }) }
            : {
                model,
                tools,
                input: items,
                store: false,
                include: ['reasoning.encrypted_content'],
              },
        );
        previous = response.id;
        items.push(...(response.output as OpenAI.Responses.ResponseInput));
        return response;
      };
      const answers: string[] = [];
      for (const content of QUESTIONS) {
        const { output } = await ask([{ role: 'user', content }]);
        const results = output.flatMap((item) =>
          item.type === 'function_call'
            ? [
                {
                  type: 'function_call_output' as const,
                  call_id: item.call_id,
                  output: farAway((JSON.parse(item.arguments) as { word: string }).word),
                },
              ]
            : [],
        );
        answers.push((await ask(results)).output_text);
      }
      expectLoops(answers);
    },
  );

  it.each([false, true])("is called by Anthropic's tool runner (stream: %s)", async (stream) => {
    const client = new Anthropic({ baseURL: plinth.url, apiKey, authToken: null, maxRetries: 0 });
    const lookUp = betaZodTool({
      name: 'look_up',
      description: DESCRIPTION,
      inputSchema: z.object({ word: z.string() }),
      run: ({ word }) => farAway(word),
    });
    let messages: Anthropic.Beta.BetaMessageParam[] = [];
    const answers: string[] = [];
    for (const content of QUESTIONS) {
      messages.push({ role: 'user', content });
      const runner = client.beta.messages.toolRunner({
        ...{ model, max_tokens: 2_000, messages, tools: [lookUp], stream },
        thinking: { type: 'enabled', budget_tokens: 1_024 },
      });
      const last = await runner.runUntilDone();
      messages = [...runner.params.messages];
      if (messages.at(-1)?.role !== 'assistant')
        messages.push({ role: 'assistant', content: last.content });
      answers.push(last.content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
    }
    expectLoops(answers);
  });

  describe('is called by the AI SDK', () => {
    const baseURL = (): string => `${plinth.url}/v1`;
    const providers: [name: string, create: () => LanguageModel][] = [
      ['openai (responses)', () => createOpenAI({ baseURL: baseURL(), apiKey })(model)],
      ['openai (chat)', () => createOpenAI({ baseURL: baseURL(), apiKey }).chat(model)],
      ['anthropic', () => createAnthropic({ baseURL: baseURL(), apiKey })(model)],
      [
        'openai-compatible',
        () => createOpenAICompatible({ name: 'plinth', baseURL: baseURL(), apiKey })(model),
      ],
    ];
    it.each(providers)('with %s', async (_, create) => {
      const languageModel = create();
      const tools = {
        look_up: tool({
          description: DESCRIPTION,
          inputSchema: z.object({ word: z.string() }),
          execute: ({ word }) => Promise.resolve(farAway(word)),
        }),
      };
      const messages: ModelMessage[] = [];
      const answers: string[] = [];
      for (const [at, content] of QUESTIONS.entries()) {
        messages.push({ role: 'user', content });
        const call = {
          model: languageModel,
          tools,
          messages,
          stopWhen: stepCountIs(3),
          maxRetries: 0,
        };
        if (at === 0) {
          const { text, responseMessages } = await generateText(call);
          messages.push(...responseMessages);
          answers.push(text);
        } else {
          const failures: unknown[] = [];
          const result = streamText({ ...call, onError: ({ error }) => void failures.push(error) });
          answers.push(await result.text);
          expect(failures).toEqual([]);
        }
      }
      expectLoops(answers);
    });
  });

  it.each(['OpenAI', 'Anthropic'])("is called by LangChain's %s", async (name) => {
    const chat =
      name === 'OpenAI'
        ? new ChatOpenAI({
            model,
            apiKey,
            maxRetries: 0,
            configuration: { baseURL: `${plinth.url}/v1` },
          })
        : new ChatAnthropic({
            model,
            apiKey,
            maxRetries: 0,
            anthropicApiUrl: plinth.url,
            maxTokens: 1_000,
          });
    const withTools = chat.bindTools([
      { name: 'look_up', description: DESCRIPTION, schema: z.object({ word: z.string() }) },
    ] as never);
    const messages: (BaseMessage | { role: 'user'; content: string })[] = [];
    const answers: string[] = [];
    for (const content of QUESTIONS) {
      messages.push({ role: 'user', content });
      const first = await withTools.invoke(messages);
      messages.push(first);
      for (const { id, args } of first.tool_calls ?? []) {
        messages.push(new ToolMessage({ tool_call_id: id ?? '', content: farAway(args['word']) }));
      }
      const second = await withTools.invoke(messages);
      messages.push(second);
      answers.push(second.text);
    }
    expectLoops(answers);
  });

  it('answers two questions of a session as an agent with a tool', async () => {
    const modelId = answered(modelIds.get(model));
    const { id: agentId } = await createAgent(admin, modelId, {
      runtime: 'tools',
      tools: ['current_time'],
    });
    const sessionId = done(
      await admin.post<{ id: string }>('/system/session', { sessionTitle: model }),
    ).data.id;
    for (const content of QUESTIONS) {
      const reply = await sendChat(admin, { agentId, sessionId, content });
      expect(reply.error).toBeUndefined();
      expect(reply.text).toMatch(/^The tool says: /);
    }
    expect(upstreams.calls).toHaveLength(4);
  });
});

function answered<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('There is no answer.');
  return value;
}

/** The message as programs that keep unknown fields collect it from a stream. */
async function collected(
  chunks: AsyncIterable<OpenAI.ChatCompletionChunk>,
): Promise<OpenAI.ChatCompletionMessage> {
  const message: OpenAI.ChatCompletionMessage & Record<string, unknown> = {
    ...{ role: 'assistant', content: null, refusal: null },
  };
  const details: unknown[] = [];
  for await (const { choices } of chunks) {
    const { role: _, tool_calls, ...delta } = choices[0]?.delta ?? {};
    // Every stand-in sends a call whole.
    if (tool_calls) {
      message.tool_calls = tool_calls.map(
        ({ index: _index, ...call }) => call as OpenAI.ChatCompletionMessageToolCall,
      );
    }
    for (const [name, value] of Object.entries(delta)) {
      if (Array.isArray(value)) details.push(...(value as unknown[]));
      else if (typeof value === 'string') message[name] = textOf(message[name]) + value;
    }
  }
  if (details.length > 0) message['reasoning_details'] = details;
  return message;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
