import {
  ForbiddenAddressError,
  OutboundError,
  OutboundHttp,
} from '../../platform/outbound/index.js';
import type {
  OutboundErrorKind,
  OutboundHttpOptions,
  OutboundResponse,
  OutboundTimeouts,
} from '../../platform/outbound/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { ContentRefusedError } from './content.checks.js';

/** The operator's way out of the network, and what tests put in the place of the network. */
export type ContentClientOptions = Partial<
  Pick<
    OutboundHttpOptions,
    'allowedHosts' | 'authorities' | 'allowedPrivateHosts' | 'ca' | 'proxies' | 'resolve'
  >
> & {
  /** 443. */
  readonly port?: number;
  readonly timeouts?: OutboundTimeouts;
};

const DEFAULT_PORT = 443;
const TIMEOUTS: OutboundTimeouts = { connectMs: 15_000, idleMs: 60_000, totalMs: 90_000 };

const REASONS: Partial<Record<OutboundErrorKind, Message>> = {
  redirect: msg`The resource was moved, and redirects are not followed.`,
  'timeout-connect': msg`The resource’s host could not be reached in time. Try again.`,
  'timeout-idle': msg`The resource’s host sent nothing for too long. Try again.`,
  'timeout-total': msg`Fetching the resource took too long. Try again.`,
  proxy: msg`The proxy could not reach the resource’s host. Check HTTPS_PROXY and what the proxy allows.`,
  tls: msg`The certificate of the resource’s host could not be verified.`,
};

/**
 * Calls the hosts of media resources: only public addresses and the default port, without any credential, on
 * connections that nothing else uses.
 */
export class ContentClient {
  readonly port: number;
  private readonly timeouts: OutboundTimeouts;
  private readonly http: OutboundHttp;

  constructor({ port = DEFAULT_PORT, timeouts = TIMEOUTS, ...options }: ContentClientOptions = {}) {
    this.port = port;
    this.timeouts = timeouts;
    this.http = new OutboundHttp({ allowedPrivateHosts: [], ...options, allowedPorts: [port] });
  }

  /**
   * The answer with status 200. Fails with ContentRefusedError; with OutboundError when the signal ends the call.
   *
   * @param http For an address that is not public.
   */
  async get(
    address: string,
    signal: AbortSignal,
    http: OutboundHttp = this.http,
  ): Promise<OutboundResponse> {
    const { timeouts } = this;
    const response = await this.reasoned(() =>
      http.request(address, { method: 'GET', headers: {}, signal, timeouts }),
    );
    if (response.status === 200) return response;
    response.discard();
    throw new ContentRefusedError(
      msg`The resource’s host answered ${response.status}. The resource may have expired; look the task up again.`,
    );
  }

  /** Does something with the answer, whose failures get a reason, too. */
  async reasoned<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw refusalOf(error);
    }
  }

  async close(): Promise<void> {
    await this.http.close();
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof ForbiddenAddressError) {
    return new ContentRefusedError(
      msg`The resource’s host leads to an address that must not be called.`,
      { cause: error },
    );
  }
  if (!(error instanceof OutboundError) || error.kind === 'aborted') return error;
  const reason = REASONS[error.kind] ?? msg`The resource could not be fetched. Try again.`;
  return new ContentRefusedError(reason, { cause: error });
}
