import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { setTimeout as delay } from 'node:timers/promises';
import { msg } from '../../platform/message/index.js';
import { abortedError, cutError, UpstreamError, upstreamErrorOf } from './upstream.error.js';
import {
  countIn,
  errorOfAnswer,
  firstCount,
  isRecord,
  parseJson,
  recordIn,
  retryAfterMs,
  textIn,
} from './vendor-json.js';
import type { JsonRecord } from './vendor-json.js';
import type {
  OutboundHttp,
  OutboundRequest,
  OutboundResponse,
} from '../../platform/outbound/index.js';
import { authenticated } from './authentication.js';
import type { CallIdentity } from './authentication.js';
import { AdaptedBody, MAX_REPEATS } from './refused-parameters.js';
import type { ServiceFindings } from './refused-parameters.js';
import type { Secrets } from './safe-text.js';

const LF = 0x0a;
const CR = 0x0d;

/** Longest event or line that is accepted. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** Splits the body of one streamed answer into texts, wherever its reads are cut. Throws UpstreamError (protocol) beyond 1 MiB a text. */
export interface StreamDecoder {
  /** Adds the texts that this read completes to `texts`, also when it throws, and returns them. */
  push(bytes: Buffer, texts?: string[]): string[];
  /** Returns at most one text: what the end of the stream left unterminated. */
  end(): string[];
}

/**
 * Decodes `text/event-stream` (WHATWG HTML, 9.2) into the data of each event. One difference to the standard: `end`
 * returns an event that the stream left unterminated, because some services omit the last empty line.
 */
export class EventStreamDecoder implements StreamDecoder {
  private readonly characters = new StringDecoder('utf8');
  private readonly parser = createParser({ onEvent: ({ data }) => this.onEvent(data) });
  private texts: string[] = [];
  /** Bytes since the last event. The parser discards lines that mean nothing, and those count as well. */
  private pendingBytes = 0;

  push(bytes: Buffer, texts: string[] = []): string[] {
    this.texts = texts;
    this.pendingBytes += bytes.length;
    this.parser.feed(this.characters.write(bytes));
    if (this.pendingBytes > MAX_EVENT_BYTES) throw tooLarge();
    return texts;
  }

  end(): string[] {
    this.texts = [];
    // The first line feed ends an open line, or completes a CR LF; the second ends the event.
    this.parser.feed(`${this.characters.end()}\n\n`);
    return this.texts;
  }

  private onEvent(data: string): void {
    if (data.length > MAX_EVENT_BYTES) throw tooLarge();
    this.pendingBytes = 0;
    this.texts.push(data);
  }
}

/** The end of the `text/event-stream` event that begins at `start`, its empty line included; 0 while it is incomplete. */
export function endOfEvent(data: Buffer, start: number): number {
  for (let at = data.indexOf(LF, start); at >= 0; at = data.indexOf(LF, at + 1)) {
    if (data[at + 1] === LF) return at + 2;
    if (data[at + 1] === CR && data[at + 2] === LF) return at + 3;
  }
  return 0;
}

/** Decodes newline-delimited JSON into its lines. A CR before the LF is white space to JSON. */
export class JsonLinesDecoder implements StreamDecoder {
  private readonly characters = new StringDecoder('utf8');
  private pending: string[] = [];
  private pendingLength = 0;

  push(bytes: Buffer, texts: string[] = []): string[] {
    const pieces = this.characters.write(bytes).split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) this.endLine(piece, texts);
    this.keep(rest);
    return texts;
  }

  end(): string[] {
    const texts: string[] = [];
    this.endLine(this.characters.end(), texts);
    return texts;
  }

  private endLine(last: string, texts: string[]): void {
    this.keep(last);
    const line = this.pending.join('');
    this.pending = [];
    this.pendingLength = 0;
    if (line.trim() !== '') texts.push(line);
  }

  private keep(piece: string): void {
    this.pending.push(piece);
    this.pendingLength += piece.length;
    if (this.pendingLength > MAX_EVENT_BYTES) throw tooLarge();
  }
}

export function tooLarge(): UpstreamError {
  return new UpstreamError({
    kind: 'protocol',
    message: msg`The provider sent a single event of more than 1 MiB, which is refused. Check that the address belongs to a model service.`,
  });
}

export interface RetryOptions {
  /** Maximum attempts, the first included. */
  readonly attempts: number;
  readonly signal: AbortSignal;
  /** A service whose Retry-After is longer is not called again. Without this limit, Retry-After is cut to 20 seconds. */
  readonly maxRetryAfterMs?: number;
  /** Replaces the rules for another try: resolves when there is to be one, else throws what the call fails with. */
  readonly beforeRetry?: (error: unknown, attempt: number) => Promise<void>;
  /** A random number between 0 and 1; for tests. */
  readonly random?: () => number;
  /** Must leave no timer behind when the signal fires; for tests. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Observes the attempts of a stream. */
export interface StreamWatch<T> {
  /** Receives each part before the reader does. */
  read(part: T): void;
  /** Called once for each attempt that was opened or failed to open. `left`: the reader wants no more. */
  end(how: 'whole' | 'left' | { readonly error: unknown }): void;
}

const FIRST_BACKOFF_MS = 300;
const MAX_BACKOFF_MS = 5_000;
/** A caller is waiting for the answer. */
const MAX_RETRY_AFTER_MS = 20_000;

/**
 * Passes a stream on, and opens it again as long as it fails in a way that may pass and nothing has
 * come out of it. After the first part there is no second try, because the reader has seen it.
 */
export async function* retryBeforeFirstPart<T>(
  open: (attempt: number) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
  options: RetryOptions,
  watch?: StreamWatch<T>,
): AsyncGenerator<T, void, void> {
  for (let attempt = 1; ; attempt++) {
    let started = false;
    let failure: { readonly error: unknown } | undefined;
    let isWhole = false;
    try {
      for await (const part of await open(attempt)) {
        started = true;
        watch?.read(part);
        yield part;
      }
      isWhole = true;
      return;
    } catch (error) {
      failure = { error };
      if (started) throw error;
    } finally {
      watch?.end(failure ?? (isWhole ? 'whole' : 'left'));
    }
    await beforeRetry(failure.error, attempt, options);
  }
}

/** The same for a call with one answer. */
export async function retryCall<T>(
  call: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      await beforeRetry(error, attempt, options);
    }
  }
}

function beforeRetry(error: unknown, attempt: number, options: RetryOptions): Promise<void> {
  return options.beforeRetry?.(error, attempt) ?? pauseBeforeRetry(error, attempt, options);
}

/** Throws the error if there is to be no other try; else waits: half of the backoff, plus a random share of the other half. */
export async function pauseBeforeRetry(
  error: unknown,
  attempt: number,
  options: RetryOptions,
): Promise<void> {
  const { attempts, signal, random = Math.random, sleep = pause } = options;
  const mayPass = error instanceof UpstreamError && error.retryable;
  if (!mayPass || attempt >= attempts || signal.aborted) throw error;
  const requested = error.retryAfterMs ?? 0;
  if (requested > (options.maxRetryAfterMs ?? Infinity)) throw error;
  const backoff = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  const jittered = backoff / 2 + (random() * backoff) / 2;
  const capped = Math.min(options.maxRetryAfterMs ?? MAX_RETRY_AFTER_MS, requested);
  await sleep(Math.max(jittered, capped), signal);
}

/** Waits; fails with UpstreamError `aborted` as soon as the signal fires. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch {
    // The only failure is the signal's.
    throw abortedError();
  }
}

/** Address and credential of a model, as its record stores them. */
export interface ModelConnection extends CallIdentity {
  readonly address: string;
  readonly credential?: string;
  /** Version header of the messages protocol. */
  readonly protocolVersion?: string;
}

/** Timeouts in milliseconds; idle and total do not run while back-pressure holds the stream. */
export interface CallLimits {
  readonly connectMs: number;
  /** Longest silence, before the first byte and between bytes. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** The signal and the limits end a call. */
export interface ModelCallOptions {
  readonly limits: CallLimits;
  readonly signal: AbortSignal;
  readonly findings?: ServiceFindings | undefined;
  /** Receives the rate limit headers of the service, by lower-case name, of a failed call as well. */
  readonly onRateLimits?: ((limits: Readonly<Record<string, string>>) => void) | undefined;
  /** Header of W3C Trace Context, not covered by a signature. */
  readonly traceparent?: string | undefined;
}

/** Parts of a usage that have prices of their own, and the price itself. Absent fields are none of it. */
export interface BilledUsage {
  /** Part of the input that was written to the cache of the service, for 5 minutes or an unstated time. */
  readonly cacheWriteTokens?: number;
  /** The same for an hour. */
  readonly cacheWriteHourTokens?: number;
  /** Part of the input. */
  readonly audioInputTokens?: number;
  /** Part of the output. */
  readonly audioOutputTokens?: number;
  /** Searches that the service itself made. */
  readonly webSearches?: number;
  /** Runs of code, or containers for it, of the service itself. */
  readonly codeRuns?: number;
  /** The tier in which the service has worked, in its words. */
  readonly serviceTier?: string;
  /** The cost as the service states it. */
  readonly serviceCost?: number;
  /** Currency of serviceCost (ISO 4217). */
  readonly serviceCurrency?: string;
}

/** Token counts; unknown is undefined, never 0. */
export interface Usage {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** What services charge apart; absent where a call has none of it. */
  readonly billed?: BilledUsage | undefined;
  /** The usage as the service reported it. */
  readonly raw: unknown;
}

/** Ticks of a dollar (docs.x.ai, Cost Tracking, 2026-11). */
const TICKS_PER_DOLLAR = 10_000_000_000;
/** The largest cost of one call that is believed. */
const MAX_SERVICE_COST = 1_000_000;
/** The name of a tier that is stored. */
const TIER = /^[\w.-]{1,20}$/;

/**
 * What services charge apart, as they spell it (references of the vendors, 2026-11); undefined for nothing.
 * - Cache writes: Anthropic `cache_creation` by lifetime and `cache_creation_input_tokens` for all of them, Qwen the same below
 *   `prompt_tokens_details`; OpenAI (since GPT-5.6) and OpenRouter `cache_write_tokens` in the details.
 * - Sound: OpenAI, OpenRouter and Gemini `audio_tokens` in the details.
 * - Tools of the service: Anthropic and OpenRouter `server_tool_use`, xAI `server_side_tool_usage_details`, Perplexity
 *   `num_search_queries`. OpenAI reports items of the output instead (chat/responses.protocol.ts).
 * - Tier: Anthropic `service_tier` and `speed` in the usage; OpenAI, Gemini and Groq `service_tier` beside it.
 * - Cost, always in US dollars: OpenRouter and the gateway of Vercel `cost`, Perplexity `cost.total_cost`, DeepInfra `estimated_cost`,
 *   xAI `cost_in_usd_ticks`.
 */
export function billedUsage(
  raw: JsonRecord,
  answer: JsonRecord = {},
  toolCalls: Pick<BilledUsage, 'webSearches' | 'codeRuns'> = {},
): BilledUsage | undefined {
  const input =
    recordIn(raw, 'prompt_tokens_details') ??
    recordIn(raw, 'input_tokens_details') ??
    recordIn(raw, 'input_token_details');
  const output =
    recordIn(raw, 'completion_tokens_details') ?? recordIn(raw, 'output_tokens_details');
  const tools = recordIn(raw, 'server_tool_use');
  const xai = recordIn(raw, 'server_side_tool_usage_details');
  const searches = [countIn(xai, 'web_search_calls'), countIn(xai, 'x_search_calls')];
  const [written, hour] = cacheWrites(raw, input);
  const tier =
    textIn(raw, 'speed') === 'fast'
      ? 'fast'
      : (textIn(raw, 'service_tier') ?? textIn(answer, 'service_tier'));
  const serviceCost = costIn(raw);
  const fields = {
    cacheWriteTokens: written,
    cacheWriteHourTokens: hour,
    audioInputTokens: countIn(input, 'audio_tokens'),
    audioOutputTokens: countIn(output, 'audio_tokens'),
    webSearches: firstCount(
      countIn(tools, 'web_search_requests'),
      searches.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      countIn(raw, 'num_search_queries'),
      toolCalls.webSearches,
    ),
    codeRuns: firstCount(
      countIn(tools, 'code_execution_requests'),
      countIn(xai, 'code_interpreter_calls'),
      toolCalls.codeRuns,
    ),
    serviceTier: tier !== undefined && TIER.test(tier) ? tier : undefined,
    serviceCost,
    serviceCurrency: serviceCost === undefined ? undefined : 'USD',
  };
  const some = Object.entries(fields).filter(
    ([field, value]) => value !== undefined && (value !== 0 || field === 'serviceCost'),
  );
  return some.length > 0 ? Object.fromEntries(some) : undefined;
}

/** Tokens written to the cache: those for 5 minutes or an unstated time, and those for an hour. */
function cacheWrites(raw: JsonRecord, details: JsonRecord | undefined): [number, number] {
  const lifetimes =
    recordIn(raw, 'cache_creation') ?? (details && recordIn(details, 'cache_creation'));
  const hour = countIn(lifetimes, 'ephemeral_1h_input_tokens') ?? 0;
  const minutes = countIn(lifetimes, 'ephemeral_5m_input_tokens') ?? 0;
  const all = firstCount(
    countIn(raw, 'cache_creation_input_tokens'),
    countIn(details, 'cache_creation_input_tokens'),
    countIn(details, 'cache_write_tokens'),
  );
  return [Math.max(minutes, (all ?? 0) - hour), hour];
}

function costIn(raw: JsonRecord): number | undefined {
  const { cost, cost_in_usd_ticks: ticks, estimated_cost: estimated } = raw;
  const dollars = typeof ticks === 'number' ? ticks / TICKS_PER_DOLLAR : (cost ?? estimated);
  const amount = isRecord(dollars) ? dollars['total_cost'] : dollars;
  const isAmount = typeof amount === 'number' && amount >= 0 && amount <= MAX_SERVICE_COST;
  return isAmount ? amount : undefined;
}

/** The header of a bearer key; none for a blank one, since an empty token makes some gateways answer 401 that need no key at all. */
export function bearerOf(credential: string | undefined): Record<string, string> {
  const key = credential?.trim() ?? '';
  return key === '' ? {} : { authorization: `Bearer ${key}` };
}

/** The request of one call of a model service. */
export interface ModelRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Parameters that are optional for this call only: the service may refuse them. */
  readonly optional?: readonly string[];
  /** The connection itself, or more; its identity replaces the key in the headers. */
  readonly secrets: Secrets & CallIdentity;
}

const MAX_ERROR_BYTES = 64 * 1024;
/** Fits 256 vectors of 4,096 numbers. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * Posts JSON. A parameter that the service refuses by name, and that the call can do without, is left out and the call repeated
 * at once. Fails with UpstreamError, also for an error status, or ForbiddenAddressError.
 */
export async function postToModel(
  http: OutboundHttp,
  { body, headers, optional, ...request }: ModelRequest,
  options: ModelCallOptions,
): Promise<OutboundResponse> {
  const { findings } = options;
  const { facts, isStrict } = findings ?? {};
  const adapted = new AdaptedBody(body, facts, { isStrict, optional });
  for (let repeats = 0; ; repeats++) {
    const outgoing = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(adapted.body),
    } as const;
    const answer = await exchange(http, { ...request, ...outgoing }, options);
    if (answer.failure) {
      const { error, text } = answer.failure;
      const isRefusal = REFUSALS.has(error.status ?? 0) && repeats < MAX_REPEATS;
      if (!isRefusal || options.signal.aborted || !adapted.adapt(text, error.status)) throw error;
      continue;
    }
    if (adapted.learned.size > 0) await findings?.keep(adapted.learned);
    if (adapted.leftOut.length > 0) findings?.leftOut(adapted.leftOut);
    return answer.response;
  }
}

/** Statuses with which services refuse a request; some fail over an argument that they do not know. */
const REFUSALS: ReadonlySet<number> = new Set([400, 422, 500, 501]);

/** A file that a model reads. `name` ends as its type does: services go by the ending. */
export interface ModelFile {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/** A text, the texts of a field that is sent several times, or files. */
export type FormValue = string | readonly string[] | readonly ModelFile[];

interface FormRequest extends Omit<ModelRequest, 'body'> {
  readonly form: Readonly<Record<string, FormValue>>;
}

/** Posts multipart/form-data, which is encoded whole, so that its length is declared. Fails like postToModel. */
export async function postFormToModel(
  http: OutboundHttp,
  { form, headers, ...request }: FormRequest,
  options: ModelCallOptions,
): Promise<OutboundResponse> {
  const data = new FormData();
  for (const [name, value] of Object.entries(form)) {
    for (const part of typeof value === 'string' ? [value] : value) {
      if (typeof part === 'string') data.append(name, part);
      else data.append(name, new Blob([part.bytes], { type: part.mimeType }), part.name);
    }
  }
  const encoded = new Response(data);
  const outgoing = {
    method: 'POST',
    headers: { 'content-type': encoded.headers.get('content-type') ?? '', ...headers },
    body: Buffer.from(await encoded.arrayBuffer()),
  } as const;
  const answer = await exchange(http, { ...request, ...outgoing }, options);
  if (answer.failure) throw answer.failure.error;
  return answer.response;
}

/** Gets the JSON at an address of a model service. Fails like postToModel. */
export async function getJson(
  http: OutboundHttp,
  request: Omit<ModelRequest, 'body'>,
  options: ModelCallOptions,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<unknown> {
  const answer = await exchange(http, { ...request, method: 'GET' }, options);
  if (answer.failure) throw answer.failure.error;
  return jsonOf(answer.response, maxBytes);
}

type Exchanged =
  | { readonly response: OutboundResponse; readonly failure?: undefined }
  /** An error status, and the service's own text, which is for no user's eyes. */
  | { readonly failure: { readonly error: UpstreamError; readonly text: string } };

async function exchange(
  http: OutboundHttp,
  {
    url,
    secrets,
    ...request
  }: Omit<ModelRequest, 'body'> & Pick<OutboundRequest, 'method' | 'body'>,
  { limits, signal, onRateLimits, traceparent }: ModelCallOptions,
): Promise<Exchanged> {
  let callSecrets: Secrets = secrets;
  try {
    const call = await authenticated(http, { ...request, url, secrets }, signal);
    callSecrets = call.secrets;
    const headers = traceparent === undefined ? call.headers : { ...call.headers, traceparent };
    const authorized = { ...request, headers };
    const response = await http.request(url, { ...authorized, signal, timeouts: limits });
    onRateLimits?.(rateLimitsIn(response.headers));
    if (response.status < 400) return { response };
    const { status } = response;
    const text = await errorText(response);
    const answer = {
      status,
      body: text,
      contentType: response.headers['content-type'],
      retryAfterMs: retryAfterMs(response.headers),
    };
    return { failure: { error: errorOfAnswer(answer, callSecrets), text } };
  } catch (error) {
    throw upstreamErrorOf(error, callSecrets);
  }
}

/** `x-ratelimit-remaining-requests` of OpenAI and others, `anthropic-ratelimit-requests-remaining`, `ratelimit-remaining`. */
const RATE_LIMIT = /^(x-|anthropic-)?ratelimit-[a-z-]{1,60}$/;
/** A number, a duration such as `6m0s`, or a time (RFC 3339): nothing else, so that no key is among them. */
const RATE_VALUE =
  /^(?:\d{1,20}(?:\.\d{1,20})?|(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms]))+|\d{4}-\d\d-\d\d[Tt][\d:.]{1,20}(?:[Zz]|[+-]\d\d:\d\d)?)$/;
const MAX_RATE_LIMITS = 32;

function rateLimitsIn(headers: OutboundResponse['headers']): Readonly<Record<string, string>> {
  const named = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      RATE_LIMIT.test(entry[0]) && typeof entry[1] === 'string' && RATE_VALUE.test(entry[1]),
  );
  return Object.fromEntries(named.slice(0, MAX_RATE_LIMITS));
}

/** Like postToModel; reads the answer in one piece, as parsed JSON. */
export async function postForJson(
  http: OutboundHttp,
  request: ModelRequest,
  options: ModelCallOptions,
): Promise<unknown> {
  return jsonOf(await postToModel(http, request, options));
}

/** An answer's body as parsed JSON. Fails with UpstreamError. */
export async function jsonOf(
  response: OutboundResponse,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<unknown> {
  return parseJson(await jsonTextOf(response, maxBytes));
}

/** The closing bracket of JSON by its opening bracket. */
const ENDS: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** The text of an answer that is JSON, as it was sent. Fails with UpstreamError. */
export async function jsonTextOf(
  response: OutboundResponse,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  try {
    const text = await response.text(maxBytes);
    const trimmed = text.trim();
    // An interrupted answer without a declared length looks complete.
    const end = ENDS[trimmed.charAt(0)];
    if (end !== undefined && !trimmed.endsWith(end)) throw cutError();
    return text;
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

/** The text only explains the status; an answer that is too long or truncated must not hide it. */
async function errorText(response: OutboundResponse): Promise<string> {
  try {
    return await response.text(MAX_ERROR_BYTES);
  } catch {
    return '';
  }
}
