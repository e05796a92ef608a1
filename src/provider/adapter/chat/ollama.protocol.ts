import { msg } from '../../../platform/message/index.js';
import { endpointOf, LOCAL_ENDPOINTS } from '../address.js';
import { protocolError, UpstreamError } from '../upstream.error.js';
import {
  countIn,
  errorInAnswer,
  throwIfError,
  isRecord,
  recordIn,
  recordsIn,
  textIn,
} from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import type { Usage } from '../model-call.js';
import type { Secrets } from '../safe-text.js';
import { JsonLinesDecoder } from '../model-call.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { namedGeneration } from './chat.adapter.js';
import type {
  ChatCall,
  ChatMessage,
  ContentPart,
  ChatCompletion,
  ChatPart,
  FinishReason,
  GenerationNames,
  OmittedCalls,
} from './chat.adapter.js';
import { AnswerStream, completionOf, totalOf } from './stream-mapping.js';
import type { StateData } from './stream-mapping.js';
import { argumentsIn, sentInput } from './answer-text.js';
import type { ToolCallPiece } from './answer-text.js';
import { withInstruction } from './response-format.js';

const ADDRESS = {
  endpoint: '/api/chat',
  siblings: LOCAL_ENDPOINTS,
  prefix: '',
  // The bases of its other interfaces, which people copy from examples.
  endings: { '/v1': '', '/api': '' },
};

/** Ollama's own protocol: POST {address}/api/chat, answers as JSON lines. Reads no key. */
export const ollama: ChatProtocol = {
  name: 'ollama',
  endpoint: (address) => endpointOf(address, ADDRESS),
  // The same models, in the form that the other services of completions have.
  textEndpoint: (address) => ({
    url: endpointOf(address, ADDRESS).replace(/\/api\/chat$/, '/v1/completions'),
    isFim: false,
  }),
  headers: () => ({}),
  body: toOllamaBody,
  answerStream: (secrets, withThinking, { omittedCalls }) =>
    new OllamaStream(secrets, withThinking, omittedCalls),
  toCompletion,
};

/** Generation parameters among the options of a body. */
const OPTION_NAMES: GenerationNames = {
  temperature: 'temperature',
  topP: 'top_p',
  maxTokens: 'num_predict',
  stop: null,
  seed: 'seed',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  effort: null,
  thinking: null,
  responseFormat: null,
};

/** The body of POST /api/chat. Throws UpstreamError (invalid-request) for images given as addresses. */
export function toOllamaBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  const { responseFormat } = call;
  // The protocol has no tool choice: "none" is said by sending no tools.
  const tools = call.tools?.length && call.toolChoice !== 'none' ? toTools(call) : undefined;
  // The format only constrains what the model writes: it is told the schema in the text as well.
  const messages = responseFormat ? withInstruction(call.messages, responseFormat) : call.messages;
  return {
    model: call.model,
    messages: messages.map((message) => toWireMessage(message)),
    stream,
    // A model that can think does so by default (since 0.12.5). Others refuse `true`.
    ...(call.thinking === false && { think: false }),
    ...(tools !== undefined && { tools }),
    // A model whose words are constrained cannot call a tool.
    ...(responseFormat && tools === undefined && { format: responseFormat.schema }),
    options: {
      ...namedGeneration(call, OPTION_NAMES),
      ...(call.stop?.length && { stop: call.stop }),
    },
  };
}

function toTools(call: ChatCall): unknown {
  return call.tools?.map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }));
}

function toWireMessage(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return typeof message.content === 'string' ? message : toUserMessage(message.content);
    case 'assistant': {
      const { content, toolCalls = [], providerState } = message;
      const thinking = providerState && textIn(providerState.data, 'thinking');
      const inText = providerState && textIn(providerState.data, 'thinking_in_text');
      if (toolCalls.length === 0) return { role: 'assistant', content };
      return {
        role: 'assistant',
        content: `${inText ?? ''}${content}`,
        // The thinking before the call (docs.ollama.com, "Tool calling", 2025-11).
        ...(thinking && { thinking }),
        tool_calls: toolCalls.map((call) => ({
          function: { name: call.name, arguments: sentInput(call) },
        })),
      };
    }
    case 'tool':
      return { role: 'tool', tool_name: message.name, content: message.content };
  }
}

function toUserMessage(parts: readonly ContentPart[]): Record<string, unknown> {
  if (parts.some(({ type }) => type === 'image-url')) {
    throw new UpstreamError({
      kind: 'invalid-request',
      message: msg`This provider cannot fetch images from an address. Upload the image instead.`,
    });
  }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const images = parts.flatMap((part) => (part.type === 'image' ? [part.data] : []));
  return { role: 'user', content: texts.join('\n'), ...(images.length > 0 && { images }) };
}

/** Maps a stream of JSON lines of /api/chat. */
export class OllamaStream extends AnswerStream {
  private calls = 0;
  private readonly thinking: string[] = [];

  constructor(secrets: Secrets, withThinking: boolean, omittedCalls?: OmittedCalls) {
    super(new JsonLinesDecoder(), secrets, withThinking, omittedCalls);
  }

  protected readEvent(answer: JsonRecord, _: string, parts: ChatPart[]): boolean {
    if (answer['error']) throw errorInAnswer(failureIn(answer), this.secrets);
    throwIfError(answer, this.secrets);
    const message = recordIn(answer, 'message');
    if (message !== undefined) {
      const thought = textIn(message, 'thinking');
      if (thought) this.thinking.push(thought);
      this.state.addThinking(thought, parts);
      this.state.addText(textIn(message, 'content'), parts);
      for (const piece of piecesIn(message, this.calls)) {
        this.calls++;
        this.state.addToolCall(piece);
      }
    }
    if (answer['done'] !== true) return false;
    this.state.setUsage(toUsage(answer));
    const raw = textIn(answer, 'done_reason') ?? '';
    this.state.setFinish(toFinishReason(raw), raw, parts);
    return true;
  }

  protected override stateData(): StateData | undefined {
    return stateOf(this.thinking.join(''), this.state.thinkingInText);
  }
}

function stateOf(thinking: string, inText: string): StateData | undefined {
  if (thinking === '' && inText === '') return undefined;
  return { ...(thinking && { thinking }), ...(inText && { thinking_in_text: inText }) };
}

/**
 * An error in a stream, of which there is a text alone. A request that is wrong has got a status, so that it is a failure of the
 * service (https://docs.ollama.com/api/errors).
 */
function failureIn({ error }: JsonRecord): unknown {
  return typeof error === 'string' ? { type: 'server_error', message: error } : error;
}

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(
  answer: unknown,
  secrets: Secrets,
  { omittedCalls }: ChatCall,
): ChatCompletion {
  throwIfError(answer, secrets);
  const message = isRecord(answer) ? recordIn(answer, 'message') : undefined;
  if (!isRecord(answer) || message === undefined) {
    throw protocolError(msg`The provider answered without a message.`);
  }
  const raw = textIn(answer, 'done_reason') ?? '';
  const reasoning = textIn(message, 'thinking') ?? '';
  return completionOf({
    text: textIn(message, 'content') ?? '',
    reasoning,
    toolCalls: piecesIn(message, 0),
    reason: toFinishReason(raw),
    raw,
    usage: toUsage(answer),
    omittedCalls,
    stateDataOf: ({ thinkingInText }) => stateOf(reasoning, thinkingInText),
  });
}

/** Calls come whole here, with their arguments as an object. */
function piecesIn(message: JsonRecord, before: number): readonly ToolCallPiece[] {
  return recordsIn(message, 'tool_calls').map((call, at) => {
    const named = recordIn(call, 'function') ?? {};
    return {
      index: before + at,
      id: textIn(call, 'id'),
      name: textIn(named, 'name'),
      arguments: argumentsIn(named['arguments'] ?? {}),
    };
  });
}

/** Older versions send no reason with `done`. */
function toFinishReason(raw: string): FinishReason {
  switch (raw) {
    case 'stop':
    case '':
      return 'stop';
    case 'length':
      return 'length';
    default:
      return 'other';
  }
}

function toUsage(answer: JsonRecord): Usage {
  const inputTokens = countIn(answer, 'prompt_eval_count');
  const outputTokens = countIn(answer, 'eval_count');
  const { message: _message, ...raw } = answer;
  return {
    inputTokens,
    outputTokens,
    totalTokens: totalOf(inputTokens, outputTokens),
    raw,
  };
}
