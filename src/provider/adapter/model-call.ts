import type {
  OutboundHttp,
  OutboundRequest,
  OutboundResponse,
} from '../../platform/outbound/index.js';
import { authenticated } from './authentication.js';
import type { CallIdentity } from './authentication.js';
import { AdaptedBody, MAX_REPEATS } from './refused-parameters.js';
import type { ServiceFindings } from './refused-parameters.js';
import { cutError, parseJson, errorOfAnswer, upstreamErrorOf } from './upstream.error.js';
import type { UpstreamError } from './upstream.error.js';
import { retryAfterMs } from './retry-after.js';
import type { Secrets } from './safe-text.js';

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
}

/** Token counts; unknown is undefined, never 0. */
export interface Usage {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** The usage as the service reported it. */
  readonly raw: unknown;
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
  { limits, signal, onRateLimits }: ModelCallOptions,
): Promise<Exchanged> {
  let callSecrets: Secrets = secrets;
  try {
    const call = await authenticated(http, { ...request, url, secrets }, signal);
    callSecrets = call.secrets;
    const authorized = { ...request, headers: call.headers };
    const response = await http.request(url, { ...authorized, signal, timeouts: limits });
    onRateLimits?.(rateLimitsIn(response.headers));
    if (response.status < 400) return { response };
    const { status, headers } = response;
    const text = await errorText(response);
    const answer = {
      status,
      body: text,
      contentType: headers['content-type'],
      retryAfterMs: retryAfterMs(headers),
    };
    return { failure: { error: errorOfAnswer(answer, callSecrets), text } };
  } catch (error) {
    throw upstreamErrorOf(error, callSecrets);
  }
}

/** `x-ratelimit-remaining-requests` of OpenAI and others, `anthropic-ratelimit-requests-remaining`, `ratelimit-remaining`. */
const RATE_LIMIT = /^(x-|anthropic-)?ratelimit-[a-z-]{1,60}$/;
/** A number, a duration such as `6m0s`, or a time. */
const RATE_VALUE = /^\d[\dA-Za-z.:+-]{0,39}$/;
const MAX_RATE_LIMITS = 32;

function rateLimitsIn(headers: OutboundResponse['headers']): Readonly<Record<string, string>> {
  const named = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      RATE_LIMIT.test(entry[0]) && typeof entry[1] === 'string' && RATE_VALUE.test(entry[1]),
  );
  return Object.fromEntries(named.slice(0, MAX_RATE_LIMITS));
}

/** The same, and reads the answer in one piece, as parsed JSON. */
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
