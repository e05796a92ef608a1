import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

/**
 * Stand-ins for services whose models think before they call a tool, and which refuse the next turn where it lacks what they sent
 * with the call. Each refuses in the words of its service:
 *
 * - DeepSeek V4 (api-docs.deepseek.com/guides/thinking_mode, read 2026-11-27): with tools, every assistant message needs
 *   `reasoning_content`, for which an empty text is enough. Reported as earendil-works/pi #3636 (2026-04-24) and
 *   MoonshotAI/kimi-cli #2141 (2026-05-01). Its messages endpoint: decolua/9router #2397 (2026-07-05).
 * - Gemini 3 (ai.google.dev/gemini-api/docs/thought-signatures): the first call of a step needs its `thought_signature`, in
 *   `extra_content.google` on the OpenAI endpoint. Refusal as in JetBrains/koog #1148 (2025-11-18), as a list as Google sends it.
 * - OpenRouter (openrouter.ai/docs, reasoning tokens): `reasoning_details` go back unchanged, in their order, or not at all.
 * - Anthropic (docs.claude.com, extended thinking): the last assistant message with a call begins with the signed blocks.
 * - OpenAI Responses (platform.openai.com/docs/guides/reasoning): a function call with its id needs its reasoning item with
 *   `encrypted_content` before it.
 * - Ollama (docs.ollama.com/capabilities/thinking): `thinking` goes back with the calls; nothing is refused.
 */
export interface StrictUpstreams {
  readonly url: string;
  /** The refusals so far, as `service: text`. */
  readonly refusals: readonly string[];
  /** Calls of models so far, as `service turn`. */
  readonly calls: readonly string[];
  /** How many calls wait because of `holdAfter`. */
  readonly held: number;
  /** Calls after so many are left without an answer until `reset`. */
  holdAfter(calls: number): void;
  /** Forgets calls and refusals; calls are answered again, but not those that were held. */
  reset(): void;
  stop(): Promise<void>;
}

/** What a client can enter as the address of the service, below the address of the server. */
export const STRICT_SERVICES = {
  deepseek: { providerCode: 'deepseek', path: '/deepseek' },
  'deepseek-messages': { providerCode: 'custom_messages', path: '/deepseek-messages/anthropic' },
  gemini: { providerCode: 'custom_api', path: '/gemini/v1beta/openai' },
  openrouter: { providerCode: 'custom_api', path: '/openrouter/api/v1' },
  anthropic: { providerCode: 'custom_messages', path: '/anthropic/v1' },
  responses: { providerCode: 'custom_responses', path: '/responses/v1' },
  ollama: { providerCode: 'ollama', path: '/ollama' },
} as const;
export type StrictService = keyof typeof STRICT_SERVICES;

type Fields = Record<string, unknown>;

/** What a model answers: it thinks, and either calls a tool or ends with a text. */
interface Turn {
  readonly number: number;
  readonly thinking: string;
  readonly signature: string;
  readonly call?: { readonly id: string; readonly name: string; readonly input: Fields };
  readonly text?: string;
}

/** What a request leaves to the model. */
interface TurnInput {
  /** Names of the offered tools. */
  readonly tools: readonly string[];
  /** The result that the request ends with. */
  readonly result: string | undefined;
  readonly question: string;
  /** How often the model has called a tool since the question. */
  readonly steps: number;
}

class Refusal extends Error {
  constructor(
    message: string,
    readonly body: unknown,
  ) {
    super(message);
  }
}

const openAiRefusal = (message: string): Refusal =>
  new Refusal(message, {
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  });

/** What Google documents for calls that its model has not made. */
const SKIPPED_SIGNATURE = 'skip_thought_signature_validator';

/** Which of the offered tools is called, and with what, after so many steps since the question; undefined for an answer. */
export type ToolChooser = (
  offered: readonly string[],
  question: string,
  steps: number,
) => { readonly name: string; readonly input: Fields } | undefined;

/** Calls the first tool once, with the last word of the question. */
const firstTool: ToolChooser = ([name], question, steps) => {
  const word = question.trim().split(/\s+/).at(-1) ?? '';
  return name === undefined || steps > 0 ? undefined : { name, input: { word } };
};

/** Reads the files one after the other. */
export function readFiles(...paths: readonly string[]): ToolChooser {
  return (offered, _question, steps) => {
    const path = paths[steps];
    const name = 'read_file';
    return path === undefined || !offered.includes(name) ? undefined : { name, input: { path } };
  };
}

/** A model calls tools after each question as it is told to, and answers with the last result. */
export async function startStrictUpstreams(
  choose: ToolChooser = firstTool,
): Promise<StrictUpstreams> {
  const turns = new Map<string, Turn>();
  const refusals: string[] = [];
  const calls: string[] = [];
  let number = 0;
  let answeredCalls = Infinity;
  let held = 0;

  /** The turn that a call belongs to. A client may give calls ids of its own; what it sends back then tells. */
  const turnOf = (id: unknown, sentBack: unknown): Turn | undefined =>
    turns.get(String(id)) ??
    [...turns.values()].find(
      ({ thinking, signature }) => sentBack === thinking || sentBack === signature,
    );

  const turnFor = (input: TurnInput): Turn => {
    number += 1;
    const thinking = `Thought ${number}: look before answering.`;
    const signature = Buffer.from(`signature ${number}`).toString('base64');
    const chosen = choose(input.tools, input.question, input.steps);
    if (!chosen)
      return { number, thinking, signature, text: `The tool says: ${input.result ?? 'nothing'}` };
    const id = `call_${number}`;
    const turn = { number, thinking, signature, call: { id, ...chosen } };
    turns.set(id, turn);
    return turn;
  };

  const services: Record<StrictService, (body: Fields, response: ServerResponse) => void> = {
    deepseek: (body, response) => {
      const messages = listOf(body['messages']);
      if (listOf(body['tools']).length > 0) {
        for (const message of messages.filter(({ role }) => role === 'assistant')) {
          const given = message['reasoning_content'];
          const callId = firstCallId(message);
          const expected = turnOf(callId, given)?.thinking;
          const isOther = callId !== undefined && given !== '' && given !== expected;
          if (typeof given !== 'string' || isOther) {
            throw openAiRefusal(
              'The `reasoning_content` in the thinking mode must be passed back to the API.',
            );
          }
        }
      }
      const turn = turnFor(chatInput(body));
      chatAnswer(body, response, turn, { message: { reasoning_content: turn.thinking } });
    },
    gemini: (body, response) => {
      for (const message of listOf(body['messages']).filter(({ role }) => role === 'assistant')) {
        const [call] = listOf(message['tool_calls']);
        const google = recordOf(recordOf(call?.['extra_content'])['google']);
        const given = google['thought_signature'];
        const turn = call && turnOf(call['id'], given);
        if (call && given !== SKIPPED_SIGNATURE && (!turn || given !== turn.signature)) {
          const message = `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${String(recordOf(call['function'])['name'])}\`, position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
          throw new Refusal(message, [
            { error: { code: 400, message, status: 'INVALID_ARGUMENT' } },
          ]);
        }
      }
      const turn = turnFor(chatInput(body));
      const google = { thought_signature: turn.signature };
      chatAnswer(body, response, turn, { call: { extra_content: { google } } });
    },
    openrouter: (body, response) => {
      const detailsOf = (turn: Turn): Fields[] => [
        {
          type: 'reasoning.text',
          text: turn.thinking,
          signature: turn.signature,
          format: 'anthropic-claude-v1',
          index: 0,
        },
        {
          type: 'reasoning.encrypted',
          data: turn.signature,
          id: 'rs_1',
          format: 'anthropic-claude-v1',
          index: 1,
        },
      ];
      for (const message of listOf(body['messages'])) {
        const details = message['reasoning_details'];
        const [first] = listOf(details);
        const turn = turnOf(firstCallId(message), first?.['text']);
        // A message without them goes on without reasoning.
        if (details && !isDeepStrictEqual(details, turn && detailsOf(turn))) {
          throw openAiRefusal(
            'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
          );
        }
      }
      const turn = turnFor(chatInput(body));
      const reasoning = { reasoning: turn.thinking, reasoning_details: detailsOf(turn) };
      chatAnswer(body, response, turn, { message: reasoning });
    },
    anthropic: (body, response) => {
      const isThinking = thinks(body, false);
      for (const message of isThinking ? assistantsIn(body) : []) {
        checkBlocks(message, turnOf, (turn) => [
          { type: 'thinking', thinking: turn.thinking, signature: turn.signature },
          { type: 'redacted_thinking', data: turn.signature },
        ]);
      }
      const turn = turnFor(messagesInput(body));
      messagesAnswer(body, response, turn, isThinking ? 'redacted' : 'none');
    },
    'deepseek-messages': (body, response) => {
      const isThinking = thinks(body, true);
      for (const message of isThinking ? assistantsIn(body) : []) {
        checkBlocks(
          message,
          turnOf,
          (turn) => [{ type: 'thinking', thinking: turn.thinking, signature: turn.signature }],
          () =>
            openAiRefusal(
              'The `content[].thinking` in the thinking mode must be passed back to the API.',
            ),
        );
      }
      const turn = turnFor(messagesInput(body));
      messagesAnswer(body, response, turn, isThinking ? 'thinking' : 'none');
    },
    responses: (body, response) => {
      const items = typeof body['input'] === 'string' ? [] : listOf(body['input']);
      for (const [at, item] of items.entries()) {
        if (item['type'] !== 'function_call') continue;
        const before = items[at - 1];
        const turn = turnOf(item['call_id'], before?.['encrypted_content']);
        // An item without the id of a stored one is taken as it is.
        const isStored = item['id'] !== undefined;
        if (isStored && before?.['encrypted_content'] !== turn?.signature) {
          throw openAiRefusal(
            `Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.`,
          );
        }
      }
      const turn = turnFor(responsesInput(body));
      responsesAnswer(body, response, turn);
    },
    ollama: (body, response) => {
      const turn = turnFor(chatInput(body));
      ollamaAnswer(body, response, turn);
    },
  };

  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const service = request.url?.split('/')[1] as StrictService;
      if (calls.length >= answeredCalls) {
        held += 1;
        return;
      }
      try {
        services[service](body, response);
        calls.push(`${service} ${calls.length + 1}`);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusals.push(`${service}: ${error.message}`);
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify(error.body));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusals,
    calls,
    get held() {
      return held;
    },
    holdAfter: (count) => {
      answeredCalls = count;
    },
    reset: () => {
      refusals.length = 0;
      calls.length = 0;
      answeredCalls = Infinity;
      held = 0;
    },
    stop: () => stopped(server),
  };
}

async function stopped(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function bodyOf(request: IncomingMessage): Promise<Fields> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text === '' ? {} : (JSON.parse(text) as Fields);
}

function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

function namesOf(tools: unknown): string[] {
  return listOf(tools).flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
}

function firstCallId(message: Fields): string | undefined {
  const [call] = listOf(message['tool_calls']);
  return call && String(call['id']);
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(({ text, content: inner }) => (typeof text === 'string' ? text : textOf(inner)))
    .join('');
}

function chatInput(body: Fields): TurnInput {
  const messages = listOf(body['messages']);
  const last = messages.at(-1) ?? {};
  return {
    tools: listOf(body['tools']).map((tool) => String(recordOf(tool['function'])['name'])),
    result: last['role'] === 'tool' ? textOf(last['content']) : undefined,
    question: textOf(messages.findLast(({ role }) => role === 'user')?.['content']),
    steps: stepsAfter(messages, ({ role }) => role === 'user'),
  };
}

function messagesInput(body: Fields): TurnInput {
  const messages = listOf(body['messages']);
  const last = messages.at(-1) ?? {};
  const resultIn = ({ content }: Fields): Fields | undefined =>
    listOf(content).find(({ type }) => type === 'tool_result');
  const result = resultIn(last);
  return {
    tools: namesOf(body['tools']),
    result: result && textOf(result['content']),
    question: textOf(last['content']),
    steps: stepsAfter(messages, (message) => message['role'] === 'user' && !resultIn(message)),
  };
}

function responsesInput(body: Fields): TurnInput {
  const items = listOf(body['input']);
  const last = items.at(-1) ?? {};
  return {
    tools: namesOf(body['tools']),
    result: last['type'] === 'function_call_output' ? textOf(last['output']) : undefined,
    question: typeof body['input'] === 'string' ? body['input'] : textOf(last['content']),
    steps: stepsAfter(items, ({ role }) => role === 'user'),
  };
}

/** How many messages with calls, or calls, come after the last question. */
function stepsAfter(entries: readonly Fields[], isQuestion: (entry: Fields) => boolean): number {
  const later = entries.slice(entries.findLastIndex(isQuestion) + 1);
  return later.filter(({ role, type }) => role === 'assistant' || /_call$/.test(String(type)))
    .length;
}

/** Anthropic's models think where they are asked to, DeepSeek's unless they are told not to. */
function thinks(body: Fields, byDefault: boolean): boolean {
  const { type } = recordOf(body['thinking']);
  return type === undefined ? byDefault : type !== 'disabled';
}

function assistantsIn(body: Fields): Fields[] {
  return listOf(body['messages']).filter(({ role }) => role === 'assistant');
}

/** Throws where the first blocks of a message with a call are not those that came with it. */
function checkBlocks(
  message: Fields,
  turnOf: (id: unknown, sentBack: unknown) => Turn | undefined,
  blocksOf: (turn: Turn) => Fields[],
  refusal = (): Refusal => {
    const text =
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.';
    return new Refusal(text, {
      type: 'error',
      error: { type: 'invalid_request_error', message: text },
    });
  },
): void {
  const content = listOf(message['content']);
  const call = content.find(({ type }) => type === 'tool_use');
  if (!call) return;
  const turn = turnOf(call['id'], content[0]?.['signature']);
  if (!turn) throw refusal();
  const expected = blocksOf(turn);
  const given = content
    .slice(0, expected.length)
    .map((block) =>
      Object.fromEntries(
        Object.keys(expected[content.indexOf(block)] ?? {}).map((name) => [name, block[name]]),
      ),
    );
  if (!isDeepStrictEqual(given, expected)) throw refusal();
}

function sendEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.join(''));
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function chatAnswer(
  body: Fields,
  response: ServerResponse,
  turn: Turn,
  extra: { readonly message?: Fields; readonly call?: Fields },
): void {
  const reasoning = extra.message ?? {};
  const { call, text = null } = turn;
  const toolCalls = call && [
    {
      index: 0,
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.input) },
      ...extra.call,
    },
  ];
  const message = {
    role: 'assistant',
    content: text,
    ...reasoning,
    ...(toolCalls && { tool_calls: toolCalls }),
  };
  const finish = call ? 'tool_calls' : 'stop';
  const head = { id: 'chatcmpl-1', created: 1_764_000_000, model: body['model'] };
  if (body['stream'] !== true) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    sendJson(response, { ...head, object: 'chat.completion', choices, usage: USAGE });
    return;
  }
  const chunk = (delta: Fields, reason: string | null = null, usage?: Fields): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }], ...(usage && { usage }) })}\n\n`;
  sendEvents(response, [
    chunk({ role: 'assistant', content: null, ...reasoning }),
    chunk(toolCalls ? { tool_calls: toolCalls } : { content: text }),
    chunk({}, finish, USAGE),
    'data: [DONE]\n\n',
  ]);
}

function messagesAnswer(
  body: Fields,
  response: ServerResponse,
  turn: Turn,
  blocksBefore: 'none' | 'thinking' | 'redacted',
): void {
  const { thinking, signature, call, text = '' } = turn;
  const blocks: Fields[] = [
    ...(blocksBefore === 'none' ? [] : [{ type: 'thinking', thinking, signature }]),
    ...(blocksBefore === 'redacted' ? [{ type: 'redacted_thinking', data: signature }] : []),
    call
      ? { type: 'tool_use', id: call.id, name: call.name, input: call.input }
      : { type: 'text', text },
  ];
  const head = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body['model'],
    stop_sequence: null,
  };
  const reason = call ? 'tool_use' : 'end_turn';
  const usage = { input_tokens: 10, output_tokens: 5 };
  if (body['stream'] !== true) {
    sendJson(response, { ...head, content: blocks, stop_reason: reason, usage });
    return;
  }
  const event = (type: string, fields: Fields): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  sendEvents(response, [
    event('message_start', {
      message: {
        ...head,
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    ...blocks.flatMap((block, index) => [
      event('content_block_start', { index, content_block: emptyBlock(block) }),
      ...deltasOf(block).map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    event('message_stop', {}),
  ]);
}

function emptyBlock(block: Fields): Fields {
  switch (block['type']) {
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { ...block, input: {} };
    case 'text':
      return { type: 'text', text: '' };
    default:
      return block;
  }
}

function deltasOf(block: Fields): Fields[] {
  switch (block['type']) {
    case 'thinking':
      return [
        { type: 'thinking_delta', thinking: block['thinking'] },
        { type: 'signature_delta', signature: block['signature'] },
      ];
    case 'tool_use':
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }];
    case 'text':
      return [{ type: 'text_delta', text: block['text'] }];
    default:
      return [];
  }
}

function responsesAnswer(body: Fields, response: ServerResponse, turn: Turn): void {
  const { number, thinking, signature, call, text = '' } = turn;
  const output: Fields[] = [
    {
      id: `rs_${number}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thinking }],
      encrypted_content: signature,
    },
    call
      ? {
          id: `fc_${number}`,
          type: 'function_call',
          status: 'completed',
          call_id: call.id,
          name: call.name,
          arguments: JSON.stringify(call.input),
        }
      : {
          id: `msg_${number}`,
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
        },
  ];
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 15,
  };
  const answer = (status: string, items: Fields[]): Fields => ({
    id: `resp_${number}`,
    object: 'response',
    created_at: 1_764_000_000,
    status,
    model: body['model'],
    error: null,
    incomplete_details: null,
    output: items,
    usage: status === 'completed' ? usage : null,
  });
  if (body['stream'] !== true) {
    sendJson(response, answer('completed', output));
    return;
  }
  let sequence = 0;
  const event = (type: string, fields: Fields): string => {
    const data = { type, sequence_number: sequence, ...fields };
    sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  };
  sendEvents(response, [
    event('response.created', { response: answer('in_progress', []) }),
    event('response.in_progress', { response: answer('in_progress', []) }),
    ...output.flatMap((item, at) => responsesEvents(item, at, event)),
    event('response.completed', { response: answer('completed', output) }),
  ]);
}

function responsesEvents(
  item: Fields,
  at: number,
  event: (type: string, fields: Fields) => string,
): string[] {
  const place = { item_id: item['id'], output_index: at };
  const done = event.bind(undefined, 'response.output_item.done');
  switch (item['type']) {
    case 'reasoning': {
      const [part] = listOf(item['summary']);
      return [
        event('response.output_item.added', {
          output_index: at,
          item: { ...item, summary: [], encrypted_content: '' },
        }),
        event('response.reasoning_summary_part.added', {
          ...place,
          summary_index: 0,
          part: { type: 'summary_text', text: '' },
        }),
        event('response.reasoning_summary_text.delta', {
          ...place,
          summary_index: 0,
          delta: part?.['text'],
        }),
        event('response.reasoning_summary_text.done', {
          ...place,
          summary_index: 0,
          text: part?.['text'],
        }),
        event('response.reasoning_summary_part.done', { ...place, summary_index: 0, part }),
        done({ output_index: at, item }),
      ];
    }
    case 'function_call':
      return [
        event('response.output_item.added', {
          output_index: at,
          item: { ...item, status: 'in_progress', arguments: '' },
        }),
        event('response.function_call_arguments.delta', { ...place, delta: item['arguments'] }),
        event('response.function_call_arguments.done', { ...place, arguments: item['arguments'] }),
        done({ output_index: at, item }),
      ];
    default: {
      const [part] = listOf(item['content']);
      const text = part?.['text'];
      return [
        event('response.output_item.added', {
          output_index: at,
          item: { ...item, status: 'in_progress', content: [] },
        }),
        event('response.content_part.added', {
          ...place,
          content_index: 0,
          part: { ...part, text: '' },
        }),
        event('response.output_text.delta', {
          ...place,
          content_index: 0,
          delta: text,
          logprobs: [],
        }),
        event('response.output_text.done', { ...place, content_index: 0, text, logprobs: [] }),
        event('response.content_part.done', { ...place, content_index: 0, part }),
        done({ output_index: at, item }),
      ];
    }
  }
}

function ollamaAnswer(body: Fields, response: ServerResponse, turn: Turn): void {
  const { thinking, call, text = '' } = turn;
  const head = { model: body['model'], created_at: '2026-11-27T00:00:00Z' };
  const end = { done: true, done_reason: 'stop', prompt_eval_count: 10, eval_count: 5 };
  const toolCalls = call && [{ id: call.id, function: { name: call.name, arguments: call.input } }];
  const message = {
    role: 'assistant',
    content: text,
    thinking,
    ...(toolCalls && { tool_calls: toolCalls }),
  };
  if (body['stream'] !== true) {
    sendJson(response, { ...head, message, ...end });
    return;
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const lines = [
    { ...head, message: { role: 'assistant', content: '', thinking }, done: false },
    { ...head, message: { ...message, thinking: undefined }, done: false },
    { ...head, message: { role: 'assistant', content: '' }, ...end },
  ];
  response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
