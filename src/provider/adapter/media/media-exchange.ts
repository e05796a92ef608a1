import type { OutboundHttp, OutboundResponse } from '../../../platform/outbound/index.js';
import { getJson, postForJson, postToModel } from '../model-exchange.js';
import type { ModelRequest } from '../model-exchange.js';
import { safeText } from '../safe-text.js';
import { UpstreamError } from '../upstream.error.js';
import type { MediaCallOptions } from './media.adapter.js';

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
  request: Omit<ModelRequest, 'body'>,
  options: MediaCallOptions,
): Promise<unknown> {
  return namingPath(request, () => getJson(http, request, options));
}

/**
 * Media services of one protocol differ in the paths they have, so a 404 mostly means a wrong address
 * The message does not name the host.
 */
async function namingPath<T>(
  { url, secrets }: Pick<ModelRequest, 'url' | 'secrets'>,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 404) throw error;
    const { vendorText } = error;
    const path = safeText(new URL(url).pathname, secrets);
    const said = vendorText === undefined ? '' : ` It said: ${vendorText}`;
    throw new UpstreamError({
      kind: 'not-found',
      status: 404,
      message: `The provider has nothing at the path ${path} (404). Check the service address and the model id.${said}`,
      ...(vendorText !== undefined && { vendorText }),
      cause: error,
    });
  }
}
