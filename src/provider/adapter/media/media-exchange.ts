import { buffer } from 'node:stream/consumers';
import { limitedBody } from '../../../platform/outbound/index.js';
import type { OutboundHttp, OutboundResponse } from '../../../platform/outbound/index.js';
import { InvalidInputError } from '../../../platform/error/index.js';
import { msg } from '../../../platform/message/index.js';
import { bearerOf, getJson, postForJson, postToModel } from '../model-call.js';
import type { ModelConnection, ModelRequest } from '../model-call.js';
import { safeText } from '../safe-text.js';
import { UpstreamError, upstreamErrorOf } from '../upstream.error.js';
import type { MediaCallOptions } from './media.adapter.js';

export type LookupRequest = Omit<ModelRequest, 'body'>;

/** A request to the address with the connection's bearer key. */
export function keyedRequest(url: string, connection: ModelConnection): LookupRequest {
  return { url, headers: bearerOf(connection.credential), secrets: connection };
}

/** Posts JSON and answers parsed JSON. Fails with UpstreamError, which for a 404 names the path, or ForbiddenAddressError. */
export function postMedia(
  http: OutboundHttp,
  request: ModelRequest,
  options: MediaCallOptions,
): Promise<unknown> {
  return namingPath(request, () => postForJson(http, request, options));
}

/** The same for an answer that is not JSON. */
export function postForMedium(
  http: OutboundHttp,
  request: ModelRequest,
  options: MediaCallOptions,
): Promise<OutboundResponse> {
  return namingPath(request, () => postToModel(http, request, options));
}

/** The same for what is looked up. */
export function getMedia(
  http: OutboundHttp,
  request: LookupRequest,
  options: MediaCallOptions,
): Promise<unknown> {
  return namingPath(request, () => getJson(http, request, options));
}

/**
 * Media services of one protocol differ in the paths they have, so a 404 mostly means a wrong address.
 * The message does not name the host.
 */
export async function namingPath<T>(
  { url, secrets }: Pick<ModelRequest, 'url' | 'secrets'>,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 404) throw error;
    const { vendorText } = error;
    const path = safeText(new URL(url).pathname, secrets);
    const lead = msg`The provider has nothing at the path ${path} (404). Check the service address and the model id.`;
    throw new UpstreamError({
      kind: 'not-found',
      status: 404,
      message: vendorText === undefined ? lead : msg`${lead} It said: ${vendorText}`,
      ...(vendorText !== undefined && { vendorText }),
      cause: error,
    });
  }
}

/** A sound is held in memory, and as base64 in the answer. */
const MAX_SOUND_BYTES = 64 * 1024 * 1024;

/** The body of an answer that is a sound. Fails with UpstreamError. */
export async function soundIn(response: OutboundResponse): Promise<Buffer> {
  try {
    return await buffer(limitedBody(response.body, MAX_SOUND_BYTES));
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

/** The field as a part of a body; nothing of one that was left out or is blank. */
export function optionalField(
  name: string,
  value: string | number | undefined,
): Record<string, string | number> {
  const isBlank = typeof value === 'string' && value.trim() === '';
  return value === undefined || isBlank ? {} : { [name]: value };
}

/** The text, or the default for one that was left out or is blank. */
export function textOr(value: string | undefined, otherwise: string): string {
  return value === undefined || value.trim() === '' ? otherwise : value;
}

/** A task's id as one segment of a path. Throws InvalidInputError for what cannot be an id. */
export function taskSegment(id: string): string {
  // These two would be read as steps in the path even when encoded.
  if (id.trim() === '' || id === '.' || id === '..') {
    throw new InvalidInputError(
      msg`This is no task id. Enter the id that the request was answered.`,
    );
  }
  return encodeURIComponent(id);
}
