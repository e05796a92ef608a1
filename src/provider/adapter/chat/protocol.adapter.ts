import { z } from 'zod';
import type { OutboundHttp, OutboundResponse } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import type { ModelCallOptions, ModelConnection, ModelRequest } from '../model-call.js';
import { bearerOf, postForJson, jsonOf, jsonTextOf, postToModel } from '../model-call.js';
import { KeyFilter } from '../key-filter.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import type { Secrets } from '../safe-text.js';
import { parseJson, protocolError, UpstreamError, upstreamErrorOf } from '../upstream.error.js';
import { AnswerFilter, cleanedToolCall } from './answer-filter.js';
import type { ReadParts } from './answer-filter.js';
import type {
  ChatAdapter,
  ChatCall,
  ChatCompletion,
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
import type { ReadAnswer, RelayForm } from './relay.js';
import type { AnswerStream } from './stream-mapping.js';
import {
  lacksTextCompletion,
  readTextCompletion,
  textBody,
  withoutFences,
} from './text-completion.js';
import type { TextEndpoint } from './text-completion.js';

/** What a protocol has of its own. Does no I/O. */
export interface ChatProtocol {
  readonly name: ChatProtocolName;
  /** The URL that calls go to; InvalidAddressError. */
  endpoint(address: string): string;
  headers(connection: ModelConnection): Record<string, string>;
  body(call: ChatCall, stream: boolean): object;
  /** How requests of clients of the protocol are passed on; undefined where no clients speak it. */
  readonly relayed?: RelayForm;
  /** Where texts are completed; undefined where no service of the protocol does that. */
  textEndpoint?(address: string): TextEndpoint;
  /** The URL that counts the tokens of a request; undefined where the protocol has none. */
  countEndpoint?(address: string): string;
  /** A new one for each streamed answer. */
  answerStream(secrets: Secrets, withThinking: boolean, call: ChatCall): AnswerStream;
  /** Maps an answer in one piece. Throws UpstreamError. */
  toCompletion(
    answer: unknown,
    secrets: Secrets,
    withThinking: boolean,
    call: ChatCall,
  ): ChatCompletion;
}

/** How long usage and the end mark may lag behind the finish reason before the answer counts as over. */
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
    const request = requestOf(protocol, call, connection, true);
    const answer = protocol.answerStream(connection, withThinking, call);
    const response = await postToModel(this.http, request, options);
    if (!streams(response)) {
      const json = await jsonOf(response, connection);
      yield partsOf(completionIn(protocol, json, connection, call));
      return;
    }
    // One generator, not several in a row: each would cost every read of the stream a few promises.
    const reader = new AnswerReader(response, answer, options.signal);
    const filter = AnswerFilter.of(connection);
    try {
      for (;;) {
        const read = await reader.next();
        const { parts, failure, isLast } = filter === undefined ? read : filter.read(read);
        if (parts.length > 0) yield parts;
        if (failure !== undefined) throw failure;
        if (isLast) return;
      }
    } finally {
      reader.close();
    }
  }

  /** By the service, or by a chat where that, or the model, completes no texts. */
  private async *completeText(
    call: ChatCall,
    { suffix }: TextCompletion,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncGenerator<readonly ChatPart[], void, void> {
    const protocol = this.protocolAt(connection.address);
    const endpoint = protocol.textEndpoint?.(connection.address);
    const known = suffix === undefined ? this.withoutText : this.withoutSuffix;
    if (endpoint && !known.has(connection)) {
      const { url, isFim } = endpoint;
      const headers = { ...protocol.headers(connection), ...bearerOf(connection.credential) };
      const request = { url, headers, body: textBody(call, isFim), secrets: connection };
      try {
        const response = await postToModel(this.http, request, options);
        yield* readTextCompletion(response, connection);
        return;
      } catch (error) {
        if (!lacksTextCompletion(error)) throw error;
        known.add(connection);
      }
    }
    const { completion: _, ...asked } = call;
    const answer = this.stream(asked, connection, options);
    yield* suffix === undefined ? answer : withoutFences(answer);
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    const protocol = this.protocolAt(connection.address);
    const request = requestOf(protocol, call, connection, false);
    const answer = await postForJson(this.http, request, options);
    return completionIn(protocol, answer, connection, call);
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
    const request = relayedRequest(protocol, body, connection, headers);
    const relay = new EventRelay(protocol.answerStream(connection, true, RELAYED_CALL), {
      form,
      secrets: connection,
      withUsage,
    });
    const response = await postToModel(this.http, request, options);
    if (!streams(response)) {
      const json = await jsonOf(response, connection);
      yield {
        bytes: undefined,
        parts: partsOf(completionIn(protocol, json, connection, READ_CALL)),
      };
      return;
    }
    const reader = new AnswerReader(response, relay, options.signal);
    try {
      for (;;) {
        const { parts, failure, isLast } = await reader.next();
        const bytes = relay.take(failure !== undefined);
        if (bytes.length > 0 || parts.length > 0) yield { bytes, parts };
        if (failure !== undefined) throw failure;
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
    const request = relayedRequest(protocol, body, connection, headers);
    const text = await jsonTextOf(await postToModel(this.http, request, options));
    const answer = parseJson(text);
    const { usage } = completionIn(protocol, answer, connection, RELAYED_CALL);
    return { text: withoutKey(text, answer, connection), usage };
  }

  async relayCount(
    body: RelayedBody,
    connection: ModelConnection,
    { headers, ...options }: RelayOptions,
  ): Promise<TokenCount | undefined> {
    const { address } = connection;
    const protocol = this.protocolAt(address);
    if (!protocol.countEndpoint) return undefined;
    const url = protocol.countEndpoint(address);
    const request = { ...relayedRequest(protocol, body, connection, headers), url };
    try {
      const answer = await postForJson(this.http, request, options);
      return tokenCountSchema.safeParse(answer).data;
    } catch (error) {
      if (error instanceof UpstreamError && NO_COUNT.has(error.status ?? 0)) return undefined;
      throw error;
    }
  }
}

const tokenCountSchema = z.looseObject({ input_tokens: z.number().int().min(0) });

/** How services answer a path that they do not have. */
const NO_COUNT: ReadonlySet<number> = new Set([404, 405, 501]);

/** The text of an answer as it is, unless it repeats the key of the call. */
function withoutKey(text: string, answer: unknown, connection: ModelConnection): string {
  const filter = KeyFilter.of(connection);
  if (!filter) return text;
  // The second spelling is without escapes.
  const isClean = [text, JSON.stringify(answer)].every((one) => filter.text(one) === one);
  return isClean ? text : JSON.stringify(filter.json(answer));
}

/** What a relayed answer is read with: its request is not read, and the client judges the tool calls in it. */
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
  given: RelayOptions['headers'] = {},
): ModelRequest {
  const form = formOf(protocol);
  const kept = form.headers.flatMap((name) => {
    const value = given[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return {
    url: protocol.endpoint(connection.address),
    headers: { ...protocol.headers(connection), ...Object.fromEntries(kept) },
    body: form.body(body),
    secrets: connection,
  };
}

/** The completion in an answer. Only its calls of tools can still hold the key, in escapes. */
function completionIn(
  protocol: ChatProtocol,
  answer: unknown,
  connection: ModelConnection,
  call: ChatCall,
): ChatCompletion {
  const filter = KeyFilter.of(connection);
  try {
    const completion = protocol.toCompletion(answer, connection, call.thinking !== false, call);
    if (filter === undefined) return completion;
    const toolCalls = completion.toolCalls.map((call) => cleanedToolCall(call, filter));
    return { ...completion, toolCalls };
  } catch (error) {
    const failure = upstreamErrorOf(error);
    throw filter?.error(failure) ?? failure;
  }
}

function requestOf(
  protocol: ChatProtocol,
  call: ChatCall,
  connection: ModelConnection,
  stream: boolean,
): ModelRequest {
  return {
    url: protocol.endpoint(connection.address),
    headers: protocol.headers(connection),
    body: protocol.body(call, stream),
    secrets: connection,
  };
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
    this.body = response.body[Symbol.asyncIterator]();
  }

  async next(): Promise<ReadParts> {
    const { answer } = this;
    let bytes: Buffer | undefined;
    try {
      bytes = await this.read();
    } catch (error) {
      return { parts: [], failure: upstreamErrorOf(error), isLast: true };
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

  /** Undefined at the end. A connection lost after the finish reason has lost nothing of the answer. */
  private async read(): Promise<Buffer | undefined> {
    try {
      const item = await this.body.next();
      if (item.done !== true) return item.value;
    } catch (error) {
      if (!this.answer.isFinished || this.signal.aborted) throw upstreamErrorOf(error);
    }
    this.ended = true;
    return undefined;
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
  const { reasoning, text, toolCalls, usage, finish } = completion;
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning-delta', text: reasoning } as const]),
    ...(text === '' ? [] : [{ type: 'text-delta', text } as const]),
    ...toolCalls.map((toolCall) => ({ type: 'tool-call', toolCall }) as const),
    ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    { type: 'finish', ...finish },
  ];
}
