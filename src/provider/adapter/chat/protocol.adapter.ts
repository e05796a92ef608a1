import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { OutboundHttp, OutboundResponse } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import type { ModelCallOptions, ModelConnection, ModelRequest } from '../model-call.js';
import { AWS_EVENT_STREAM, serverSentEvents } from '../aws-event-stream.js';
import { bearerOf, jsonOf, jsonTextOf, postForJson, postToModel } from '../model-call.js';
import { besideEndpoint, listModels, MAX_OFFERED_MODELS } from '../model-list.js';
import type { OfferedModel } from '../model-list.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import type { Secrets } from '../safe-text.js';
import { protocolError, UpstreamError, upstreamErrorOf } from '../upstream.error.js';
import { parseJson } from '../vendor-json.js';
import type {
  ChatAdapter,
  ChatCall,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ChatProtocolName,
  RelayedAnswer,
  RelayedBody,
  RelayedRead,
  RelayOptions,
  TextCompletion,
  TokenCount,
} from './chat.adapter.js';
import { EventRelay } from './relay.js';
import type { RequestForm } from './messages.clouds.js';
import type { ReadAnswer, RelayForm } from './relay.js';
import { stoppedCompletion, throwIfEmpty } from './stream-mapping.js';
import type { AnswerExpectation, AnswerStream } from './stream-mapping.js';
import { beginsInside, openedFinding } from './answer-text.js';
import {
  lacksTextCompletion,
  readTextCompletion,
  textBody,
  withoutFences,
} from './text-completion.js';
import type { TextEndpoint } from './text-completion.js';

/** The specifics of a protocol. Does no I/O. */
export interface ChatProtocol {
  readonly name: ChatProtocolName;
  /** The URL that calls go to; InvalidAddressError. */
  endpoint(address: string): string;
  headers(connection: ModelConnection): Record<string, string>;
  body(call: ChatCall, stream: boolean): object;
  /** The request where its place depends on the model; undefined where the service has no such request. */
  placed?(request: ModelRequest, form: RequestForm): ModelRequest | undefined;
  /** The handling of relayed client requests; undefined where no clients speak the protocol. */
  readonly relayed?: RelayForm;
  /** The endpoint for text completions; undefined where no service of the protocol has one. */
  textEndpoint?(address: string): TextEndpoint;
  /** The URL that counts the tokens of a request; undefined where the protocol has none. */
  countEndpoint?(address: string): string;
  /** The service's list of models; beside the endpoint when absent. */
  readonly modelList?: ModelListPath | undefined;
  /** A new one for each streamed answer. */
  answerStream(secrets: Secrets, withThinking: boolean, call: ChatCall): AnswerStream;
  /** Maps an answer in one piece. Throws UpstreamError. */
  toCompletion(answer: unknown, secrets: Secrets, call: ChatCall): ChatCompletion;
}

/** The path of a service's list of models: `list` replaces the ending of the endpoint. */
export type ModelListPath = readonly [ending: RegExp, list: string];

/** The list of models beside each protocol's endpoint. */
const LISTS: Readonly<Record<ChatProtocolName, ModelListPath>> = {
  'chat-completions': [/\/chat\/completions$/, '/models'],
  messages: [/\/messages$/, '/models'],
  ollama: [/\/api\/chat$/, '/api/tags'],
  responses: [/\/responses$/, '/models'],
};

/** The time that usage and the end mark may lag behind the finish reason before the answer counts as over. */
const AFTER_FINISH_MS = 2_000;

/** Calls the models of a vendor by its protocol. A vendor of several protocols selects one by the address. */
export class ProtocolAdapter extends NamedAdapter implements ChatAdapter {
  /** Connections, which are never changed, of models that were found to complete no texts, or none with a suffix. */
  private readonly withoutText = new WeakSet<ModelConnection>();
  private readonly withoutSuffix = new WeakSet<ModelConnection>();

  constructor(
    private readonly http: OutboundHttp,
    names: AdapterNames,
    private readonly protocolAt: (address: string) => ChatProtocol,
  ) {
    super(names);
  }

  endpoint(address: string): string {
    return this.protocolAt(address).endpoint(address);
  }

  /** A service that does not stream answers in one piece. */
  async *stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncGenerator<readonly ChatPart[], void, void> {
    if (call.completion) {
      yield* this.completeText(call, call.completion, connection, options);
      return;
    }
    const protocol = this.protocolAt(connection.address);
    const withThinking = call.thinking !== false;
    const origin = originOf(protocol, connection, call.model);
    const request = requestOf(protocol, withOwnStates(call, origin), connection, true);
    const answer = protocol.answerStream(connection, withThinking, call);
    const { findings } = options;
    const isInside = beginsInside(protocol.name, call.model, findings?.facts);
    answer.expect({ ...expectationOf(call), beginsInside: isInside });
    const response = await postToModel(this.http, request, options);
    if (!streams(response)) {
      const json = await jsonOf(response);
      yield partsOf(
        completionIn(protocol, json, connection, { call, origin, beginsInside: isInside }),
      );
      return;
    }
    // A single generator: each further one in the chain would cost every read of the stream a few promises.
    const reader = new AnswerReader(response, answer, options.signal);
    try {
      for (;;) {
        const { parts, failure, isLast } = await reader.next();
        if (isLast && failure === undefined && answer.beganInside !== undefined) {
          await findings?.keep(openedFinding(answer.beganInside));
        }
        // The state comes with the finish or after it.
        if (parts.length > 0) yield answer.isFinished ? stamped(parts, origin) : parts;
        if (failure !== undefined) throw upstreamErrorOf(failure, connection);
        if (isLast) return;
      }
    } finally {
      reader.close();
    }
  }

  /** Completes a text by the service's own endpoint, or by a chat where the service or the model has none. */
  private async *completeText(
    call: ChatCall,
    { suffix }: TextCompletion,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncGenerator<readonly ChatPart[], void, void> {
    const protocol = this.protocolAt(connection.address);
    const endpoint = protocol.textEndpoint?.(connection.address);
    const unsupported = suffix === undefined ? this.withoutText : this.withoutSuffix;
    if (endpoint && !unsupported.has(connection)) {
      const { url, isFim } = endpoint;
      const headers = { ...protocol.headers(connection), ...bearerOf(connection.credential) };
      const request = { url, headers, body: textBody(call, isFim), secrets: connection };
      try {
        const response = await postToModel(this.http, request, options);
        yield* readTextCompletion(response, connection);
        return;
      } catch (error) {
        if (!lacksTextCompletion(error)) throw error;
        unsupported.add(connection);
      }
    }
    const { completion: _, ...chatCall } = call;
    const answer = this.stream(chatCall, connection, options);
    yield* suffix === undefined ? answer : withoutFences(answer);
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    const protocol = this.protocolAt(connection.address);
    const origin = originOf(protocol, connection, call.model);
    const request = requestOf(protocol, withOwnStates(call, origin), connection, false);
    const answer = await postForJson(this.http, request, options);
    const isInside = beginsInside(protocol.name, call.model, options.findings?.facts);
    return completionIn(protocol, answer, connection, { call, origin, beginsInside: isInside });
  }

  protocol(address: string): ChatProtocolName {
    return this.protocolAt(address).name;
  }

  canRelay(address: string, protocol: ChatProtocolName): boolean {
    const { name, relayed } = this.protocolAt(address);
    return relayed !== undefined && name === protocol;
  }

  async *relayStream(
    body: RelayedBody,
    connection: ModelConnection,
    { withUsage = true, headers, ...options }: RelayOptions,
  ): AsyncGenerator<RelayedRead, void, void> {
    const protocol = this.protocolAt(connection.address);
    const form = formOf(protocol);
    const request = placedRequest(
      protocol,
      relayedRequest(protocol, body, connection, headers),
      true,
    );
    const relay = new EventRelay(protocol.answerStream(connection, true, RELAYED_CALL), {
      form,
      secrets: connection,
      withUsage,
    });
    const response = await postToModel(this.http, request, options);
    if (!streams(response)) {
      const json = await jsonOf(response);
      yield {
        bytes: undefined,
        parts: partsOf(
          completionIn(protocol, json, connection, {
            call: READ_CALL,
            origin: originOf(protocol, connection, String(body['model'])),
            isRelayed: true,
          }),
        ),
      };
      return;
    }
    const reader = new AnswerReader(response, relay, options.signal);
    try {
      for (;;) {
        const { parts, failure, isLast } = await reader.next();
        const bytes = relay.take();
        if (bytes.length > 0 || parts.length > 0) yield { bytes, parts };
        if (failure !== undefined) throw upstreamErrorOf(failure, connection);
        if (isLast) return;
      }
    } finally {
      reader.close();
    }
  }

  async relay(
    body: RelayedBody,
    connection: ModelConnection,
    { headers, ...options }: RelayOptions,
  ): Promise<RelayedAnswer> {
    const protocol = this.protocolAt(connection.address);
    const request = placedRequest(
      protocol,
      relayedRequest(protocol, body, connection, headers),
      false,
    );
    const text = await jsonTextOf(await postToModel(this.http, request, options));
    const answer = parseJson(text);
    const { usage } = completionIn(protocol, answer, connection, {
      call: RELAYED_CALL,
      origin: () => '',
      isRelayed: true,
    });
    return { text, usage };
  }

  async relayCount(
    body: RelayedBody,
    connection: ModelConnection,
    { headers, ...options }: RelayOptions,
  ): Promise<TokenCount | undefined> {
    const { address } = connection;
    const protocol = this.protocolAt(address);
    if (!protocol.countEndpoint) return undefined;
    const counted = {
      ...relayedRequest(protocol, body, connection, headers),
      url: protocol.countEndpoint(address),
    };
    const request = protocol.placed ? protocol.placed(counted, 'count') : counted;
    if (!request) return undefined;
    try {
      const answer = await postForJson(this.http, request, options);
      return tokenCountSchema.safeParse(answer).data;
    } catch (error) {
      if (error instanceof UpstreamError && NO_COUNT.has(error.status ?? 0)) return undefined;
      throw error;
    }
  }

  async listModels(
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly OfferedModel[]> {
    const protocol = this.protocolAt(connection.address);
    const [ending, list] = protocol.modelList ?? LISTS[protocol.name];
    const url = besideEndpoint(protocol.endpoint(connection.address), ending, list);
    // Anthropic lists only 20 models by default.
    if (protocol.name === 'messages') url.searchParams.set('limit', String(MAX_OFFERED_MODELS));
    const request = { url: url.href, headers: protocol.headers(connection) };
    return listModels(this.http, request, connection, options);
  }
}

const tokenCountSchema = z.looseObject({ input_tokens: z.number().int().min(0) });

/** Statuses of services for a path that they do not have. */
const NO_COUNT: ReadonlySet<number> = new Set([404, 405, 501]);

/** The call for reading a relayed answer: its request is not read, and the client judges the tool calls in it. */
const RELAYED_CALL: ChatCall = { model: '', messages: [], omittedCalls: 'unusable' };

/** The same where the client gets the parts that were read. */
const READ_CALL: ChatCall = { ...RELAYED_CALL, omittedCalls: 'cut' };

/** False for JSON. Throws UpstreamError for a web page. */
function streams(response: OutboundResponse): boolean {
  const type = response.headers['content-type'] ?? '';
  if (/^text\/html/i.test(type)) {
    response.discard();
    throw protocolError(msg`The address answered with a web page.`);
  }
  return !/^application\/json/i.test(type);
}

function formOf({ name, relayed }: ChatProtocol): RelayForm {
  if (!relayed) throw new Error(`The protocol ${name} cannot be relayed.`);
  return relayed;
}

function relayedRequest(
  protocol: ChatProtocol,
  body: RelayedBody,
  connection: ModelConnection,
  headers: RelayOptions['headers'] = {},
): ModelRequest {
  const form = formOf(protocol);
  const relayedHeaders = form.headers.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return {
    url: protocol.endpoint(connection.address),
    headers: { ...protocol.headers(connection), ...Object.fromEntries(relayedHeaders) },
    body: form.body(body),
    secrets: connection,
  };
}

interface ReadCompletion {
  readonly call: ChatCall;
  readonly origin: Origin;
  /** The client judges an answer that holds nothing. */
  readonly isRelayed?: true;
  /** See AnswerExpectation. */
  readonly beginsInside?: boolean;
}

/** The completion in an answer. */
function completionIn(
  protocol: ChatProtocol,
  answer: unknown,
  connection: ModelConnection,
  { call, origin, isRelayed, beginsInside: isInside = false }: ReadCompletion,
): ChatCompletion {
  try {
    const read = protocol.toCompletion(answer, connection, call);
    const whole = isInside && !call.responseFormat ? withUnfinishedThinking(read) : read;
    if (!isRelayed && isEmpty(whole)) throwIfEmpty(whole.finish.reason, expectationOf(call));
    return {
      ...stoppedCompletion(whole, call.stop),
      ...(call.thinking === false && { reasoning: '' }),
      ...(whole.providerState && {
        providerState: { ...whole.providerState, origin: origin() },
      }),
    };
  } catch (error) {
    throw upstreamErrorOf(error, connection);
  }
}

/** An answer that reached its limit inside of the thinking with which answers of the model begin has no text. */
function withUnfinishedThinking(completion: ChatCompletion): ChatCompletion {
  const { text, reasoning, finish } = completion;
  const isUnfinished = finish.reason === 'length' && reasoning === '';
  return isUnfinished ? { ...completion, text: '', reasoning: text } : completion;
}

function isEmpty({ text, reasoning, toolCalls }: ChatCompletion): boolean {
  return text.trim() === '' && reasoning === '' && toolCalls.length === 0;
}

/** After the result of a tool, some models end without a word: Claude says `end_turn` with an empty content. */
function expectationOf({ messages, responseFormat, stop }: ChatCall): AnswerExpectation {
  const isAfterTool = messages.at(-1)?.role === 'tool';
  return {
    isJson: responseFormat !== undefined,
    refusesEmpty: isAfterTool ? 'unless-stopped' : 'always',
    stop,
  };
}

const ORIGIN_CHARS = 16;

/**
 * Names the model that makes a state: its protocol, service and name. A hash, so that it reveals no address. Computed once and only
 * where a state is: it costs 60 µs, and most calls have none.
 */
type Origin = () => string;

function originOf(protocol: ChatProtocol, { address }: ModelConnection, model: string): Origin {
  let name: string | undefined;
  return () => {
    if (name !== undefined) return name;
    const { origin, pathname } = new URL(protocol.endpoint(address));
    const hash = createHash('sha256').update([protocol.name, origin + pathname, model].join('\n'));
    name = hash.digest('hex').slice(0, ORIGIN_CHARS);
    return name;
  };
}

/** The call without the states of other models, which their services would refuse. */
function withOwnStates(call: ChatCall, origin: Origin): ChatCall {
  const isForeign = (message: ChatMessage): boolean =>
    message.role === 'assistant' &&
    message.providerState !== undefined &&
    message.providerState.origin !== origin();
  if (!call.messages.some(isForeign)) return call;
  return {
    ...call,
    messages: call.messages.map((message) => {
      if (message.role !== 'assistant' || !isForeign(message)) return message;
      const { providerState: _foreign, ...portable } = message;
      return portable;
    }),
  };
}

function stamped(parts: readonly ChatPart[], origin: Origin): readonly ChatPart[] {
  return parts.map((part) =>
    part.type === 'provider-state'
      ? { ...part, providerState: { ...part.providerState, origin: origin() } }
      : part,
  );
}

function requestOf(
  protocol: ChatProtocol,
  call: ChatCall,
  connection: ModelConnection,
  stream: boolean,
): ModelRequest {
  const request = {
    url: protocol.endpoint(connection.address),
    headers: protocol.headers(connection),
    body: protocol.body(call, stream),
    secrets: connection,
    // The text ends there in any case.
    optional: ['stop', 'stop_sequences'],
  };
  return placedRequest(protocol, request, stream);
}

function placedRequest(
  protocol: ChatProtocol,
  request: ModelRequest,
  stream: boolean,
): ModelRequest {
  return protocol.placed?.(request, stream ? 'stream' : 'whole') ?? request;
}

/** The result of one read. Parts that came before a failure belong to the answer, so they are kept beside it. */
interface ReadParts {
  readonly parts: readonly ChatPart[];
  readonly failure?: Error;
  readonly isLast: boolean;
}

/** Reads a streamed answer to its end: the protocol's mark, or soon after the finish reason, or the connection's. */
class AnswerReader {
  private readonly body: AsyncIterator<Buffer, unknown>;
  private afterFinish: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(
    private readonly response: OutboundResponse,
    private readonly answer: ReadAnswer,
    private readonly signal: AbortSignal,
  ) {
    const isFramed = AWS_EVENT_STREAM.test(response.headers['content-type'] ?? '');
    const body = isFramed ? serverSentEvents(response.body) : response.body;
    this.body = body[Symbol.asyncIterator]();
  }

  async next(): Promise<ReadParts> {
    const { answer } = this;
    let bytes: Buffer | undefined;
    try {
      bytes = await this.read();
    } catch (error) {
      return this.lost(upstreamErrorOf(error));
    }
    if (bytes === undefined) return mapped((parts) => answer.end(parts), true);
    const read = mapped((parts) => answer.read(bytes, parts), false);
    if (read.failure !== undefined) return read;
    if (answer.isOver) {
      this.ended = true;
      this.response.discard();
      const last = mapped((parts) => answer.end(parts), true);
      return { ...last, parts: [...read.parts, ...last.parts] };
    }
    if (answer.isFinished) {
      this.afterFinish ??= setTimeout(() => this.response.discard(), AFTER_FINISH_MS);
    }
    return read;
  }

  /** Ends the call upstream if its answer was not read to the end. */
  close(): void {
    clearTimeout(this.afterFinish);
    if (!this.ended) void this.body.return?.();
  }

  /** Undefined at the end. */
  private async read(): Promise<Buffer | undefined> {
    const item = await this.body.next();
    if (item.done !== true) return item.value;
    this.ended = true;
    return undefined;
  }

  /** A connection that was lost: an event that it left unterminated counts, and an answer that is finished has lost nothing. */
  private lost(failure: Error): ReadParts {
    if (this.signal.aborted) return { parts: [], failure, isLast: true };
    const rest = mapped((parts) => this.answer.flush(parts), false);
    if (!this.answer.isFinished) return { parts: rest.parts, failure, isLast: true };
    this.ended = true;
    const last = mapped((parts) => this.answer.end(parts), true);
    return { ...last, parts: [...rest.parts, ...last.parts] };
  }
}

function mapped(map: (parts: ChatPart[]) => void, isLast: boolean): ReadParts {
  const parts: ChatPart[] = [];
  try {
    map(parts);
    return { parts, isLast };
  } catch (failure) {
    return { parts, failure: upstreamErrorOf(failure), isLast: true };
  }
}

/** An answer in one piece as the parts of a stream. */
export function partsOf(completion: ChatCompletion): ChatPart[] {
  const { reasoning, text, toolCalls, providerState, usage, finish } = completion;
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning-delta', text: reasoning } as const]),
    ...(text === '' ? [] : [{ type: 'text-delta', text } as const]),
    ...toolCalls.map((toolCall) => ({ type: 'tool-call', toolCall }) as const),
    ...(providerState === undefined ? [] : [{ type: 'provider-state', providerState } as const]),
    ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    { type: 'finish', ...finish },
  ];
}
