import type {
  OutboundHttp,
  OutboundRequest,
  OutboundResponse,
} from '../../platform/outbound/index.js';
import { cutError, parseJson } from './answer-failure.js';
import type { ModelCallOptions } from './model-call.js';
import type { Secrets } from './safe-text.js';
import { errorOfAnswer, upstreamErrorOf } from './upstream-failure.js';

/** What one call of a model service sends. */
export interface ModelRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly secrets: Secrets;
}

const LARGEST_ERROR_BYTES = 64 * 1024;
/** Room for 256 vectors of 4,096 numbers. */
const LARGEST_ANSWER_BYTES = 32 * 1024 * 1024;

/** Posts JSON. Fails with UpstreamError, also for an error status, or ForbiddenAddressError. */
export async function postToModel(
  http: OutboundHttp,
  { body, headers, ...request }: ModelRequest,
  options: ModelCallOptions,
): Promise<OutboundResponse> {
  const sent = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  } as const;
  return send(http, { ...request, ...sent }, options);
}

/** Gets what a model service has at an address, as parsed JSON. Fails like postToModel. */
export async function getJson(
  http: OutboundHttp,
  request: Omit<ModelRequest, 'body'>,
  options: ModelCallOptions,
): Promise<unknown> {
  return jsonOf(await send(http, { ...request, method: 'GET' }, options));
}

async function send(
  http: OutboundHttp,
  {
    url,
    secrets,
    ...request
  }: Omit<ModelRequest, 'body'> & Pick<OutboundRequest, 'method' | 'body'>,
  { limits, signal }: ModelCallOptions,
): Promise<OutboundResponse> {
  try {
    const response = await http.request(url, { ...request, signal, timeouts: limits });
    if (response.status < 400) return response;
    throw errorOfAnswer(
      {
        status: response.status,
        body: await errorText(response),
        retryAfter: response.headers['retry-after'],
      },
      secrets,
    );
  } catch (error) {
    throw upstreamErrorOf(error);
  }
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
export async function jsonOf(response: OutboundResponse): Promise<unknown> {
  try {
    const text = (await response.text(LARGEST_ANSWER_BYTES)).trim();
    // Without a length, an answer that is interrupted looks like one that is over.
    if (text.startsWith('{') && !text.endsWith('}')) throw cutError();
    return parseJson(text);
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

/** The text only explains the status; an answer too long or cut is no reason to hide the status. */
async function errorText(response: OutboundResponse): Promise<string> {
  try {
    return await response.text(LARGEST_ERROR_BYTES);
  } catch {
    return '';
  }
}
