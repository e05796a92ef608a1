import type { IncomingHttpHeaders } from 'node:http';
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction, Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import { LRUCache } from 'lru-cache';
import { ForbiddenAddressError, OutboundError, outboundErrorOf } from './outbound.errors.js';
import { msg } from '../message/index.js';
import { AddressSafety } from './address-safety.js';
import { Proxies, proxyConnector } from './proxy.js';
import type { Proxy, ProxySettings } from './proxy.js';

export interface OutboundTimeouts {
  /** Time limit for resolving, connecting and TLS. */
  readonly connectMs: number;
  /** Time limit of silence, before the headers and between bytes; not counted while the reader is paused. */
  readonly idleMs: number;
  /** Time limit from the call to the last byte; not counted while the reader is paused. */
  readonly totalMs?: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal: AbortSignal;
  readonly timeouts: OutboundTimeouts;
  /** answer: a redirect is an answer, and the caller requests its target. Default: it is an OutboundError. */
  readonly redirect?: 'answer';
  /** Called right before the request is written to its connection: without it, the service has got nothing. */
  readonly onSend?: () => void;
}

export interface OutboundResponse {
  readonly status: number;
  /** The headers, with names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /**
   * One buffer per read of the socket, whatever the framing. Can be iterated once. The socket is paused until the next
   * buffer is requested and destroyed when the loop ends early. Rejects with OutboundError.
   */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body as UTF-8. Rejects with OutboundError `too-large` beyond the limit. */
  text(limitBytes: number): Promise<string>;
  /**
   * Ends the iteration early: a waiting reader gets the end. The connection is reused if the answer ends at once, else
   * destroyed.
   */
  discard(): void;
}

export interface OutboundHttpOptions {
  /** CIDRs, IP addresses, host names, or `*`: the private addresses that may be called. */
  readonly allowedPrivateHosts: readonly string[];
  /** See AddressRules. */
  readonly allowsHostServices?: boolean;
  /** Ports that may be called; every port if not given. */
  readonly allowedPorts?: readonly number[];
  /** Resolves a name; default: the system's resolver. */
  readonly resolve?: (hostname: string) => Promise<LookupAddress[]>;
  /** Hosts that may be called, as HostList reads them; every host if not given. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** CA certificates (PEM) that replace the built-in ones. */
  readonly ca?: string | Buffer | undefined;
  /** CA certificates (PEM) that are added to the built-in ones. */
  readonly authorities?: readonly string[] | undefined;
  /** Proxies that calls go through; none by default. */
  readonly proxies?: ProxySettings | undefined;
}

/** Limit of connections per origin, which suffices for all concurrent streams of one process. */
const MAX_CONNECTIONS_PER_ORIGIN = 2048;
const KEEP_ALIVE_MS = 20_000;
const MAX_KEEP_ALIVE_MS = 60_000;
const PROXY_AUTHENTICATION_REQUIRED = 407;

/**
 * The one HTTP client for addresses that users enter: every address is checked, connections are made to exactly the
 * checked address, and redirects are refused. Behind a proxy, the proxy resolves names: the address itself is checked,
 * what its name resolves to is not.
 */
export class OutboundHttp {
  private readonly safety: AddressSafety;
  private readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
  /** The certificates, parsed once, because a list of CA certificates takes milliseconds. */
  private readonly trust?: SecureContext;
  /** Undefined where the operator names no proxy. */
  private readonly proxies?: Proxies;
  /** Agents by their connect time-out, which undici sets per connection, not per request. */
  private readonly agents = new Map<number, Agent>();
  private readonly proxyAgents = new Map<string, Agent>();
  /** The rules never change, so an address that passed them once passes again. */
  private readonly checked = new LRUCache<string, URL>({ max: 1_000 });
  private closed = false;

  constructor(options: OutboundHttpOptions) {
    this.safety = new AddressSafety(options);
    this.resolve = options.resolve ?? ((hostname) => lookup(hostname, { all: true }));
    const { authorities, ca = authorities && [...getCACertificates(), ...authorities] } = options;
    if (ca !== undefined) this.trust = createSecureContext({ ca });
    const { httpsProxy, httpProxy } = options.proxies ?? {};
    if (httpsProxy !== undefined || httpProxy !== undefined) {
      this.proxies = new Proxies(options.proxies ?? {}, this.trust);
    }
  }

  /** How certificates are verified: options of `tls.connect`. */
  get tlsOptions(): { readonly secureContext?: SecureContext } {
    return this.trust === undefined ? {} : { secureContext: this.trust };
  }

  usesProxy(url: URL): boolean {
    return this.proxies?.of(url) !== undefined;
  }

  /**
   * A connection to the service of an address that was checked, through its proxy: the tunnel for https, the proxy itself
   * for http. Rejects with OutboundError `proxy`, or with the reason of the signal.
   */
  async openProxy(url: URL, signal: AbortSignal): Promise<Socket> {
    const proxy = this.proxies?.of(url);
    if (proxy === undefined) throw new Error('The address is called without a proxy.');
    if (url.protocol === 'http:') return proxy.connect(signal);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    return proxy.tunnel(host, Number(url.port) || 443, signal);
  }

  /** Checks addresses that a name was resolved to. Throws ForbiddenAddressError. */
  assertResolvedAllowed(addresses: readonly string[]): void {
    this.safety.checkResolved(
      '',
      addresses.map((address) => ({ address, family: 0 })),
    );
  }

  /**
   * Checks an address before it is saved, as far as that is possible without the network. The resolved addresses are
   * checked at every connection. Throws ForbiddenAddressError.
   */
  assertAddressAllowed(address: string): void {
    this.safety.check(address);
  }

  /**
   * Like `assertAddressAllowed`, for a service that secrets are exchanged with: http is refused but for hosts that the
   * operator has allowed by name or address.
   */
  assertSecureAddress(address: string): void {
    const { protocol, hostname } = this.safety.check(address);
    if (protocol === 'https:' || this.safety.names(hostname)) return;
    throw ForbiddenAddressError.unlessAllowed(msg`http without TLS`);
  }

  /**
   * Sends one request. A status below 300 or from 400 on is an answer; a redirect is an OutboundError unless asked for. Rejects with
   * ForbiddenAddressError or OutboundError.
   */
  async request(address: string, request: OutboundRequest): Promise<OutboundResponse> {
    const url = this.checkedUrl(address);
    if (this.closed || request.signal.aborted) throw new OutboundError('aborted');
    const exchange = new Exchange(request.signal, request.timeouts.totalMs, request.onSend);
    const proxy = this.proxies?.of(url);
    // A proxy takes requests for http services in absolute form (RFC 9112, 3.2.2).
    const forwarding = url.protocol === 'http:' ? proxy : undefined;
    const { connectMs } = request.timeouts;
    const agent =
      proxy === undefined ? this.agentFor(connectMs) : this.proxyAgentFor(proxy, connectMs);
    agent.dispatch(
      {
        origin: forwarding?.origin ?? url.origin,
        path: (forwarding === undefined ? '' : url.origin) + url.pathname + url.search,
        method: request.method,
        headers: {
          'accept-encoding': 'identity',
          ...request.headers,
          ...(forwarding !== undefined && { host: url.host, ...forwarding.headers }),
        },
        body: request.body ?? null,
        headersTimeout: request.timeouts.idleMs,
        bodyTimeout: request.timeouts.idleMs,
      },
      exchange,
    );
    const response = await exchange.response;
    if (forwarding !== undefined && response.status === PROXY_AUTHENTICATION_REQUIRED) {
      response.discard();
      throw forwarding.refusal(response.status);
    }
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect && request.redirect !== 'answer') {
      response.discard();
      throw redirectError(response);
    }
    return response;
  }

  /** Aborts every open call with OutboundError `aborted`; later calls are refused. */
  async close(): Promise<void> {
    this.closed = true;
    const agents = [...this.agents.values(), ...this.proxyAgents.values()];
    this.agents.clear();
    this.proxyAgents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  private checkedUrl(address: string): URL {
    const cached = this.checked.get(address);
    if (cached !== undefined) return cached;
    const url = this.safety.check(address);
    this.checked.set(address, url);
    return url;
  }

  private agentFor(connectMs: number): Agent {
    const existing = this.agents.get(connectMs);
    if (existing !== undefined) return existing;
    const agent = agentWith(
      connectorFor({
        connectMs,
        resolve: this.resolve,
        check: (hostname, addresses) => this.safety.checkResolved(hostname, addresses),
        ...this.tlsOptions,
      }),
    );
    this.agents.set(connectMs, agent);
    return agent;
  }

  private proxyAgentFor(proxy: Proxy, connectMs: number): Agent {
    const key = `${proxy.setting} ${connectMs}`;
    const existing = this.proxyAgents.get(key);
    if (existing !== undefined) return existing;
    const mode = proxy.setting === 'HTTPS_PROXY' ? 'tunnel' : 'forward';
    const agent = agentWith(proxyConnector(proxy, mode, { connectMs, trust: this.trust }));
    this.proxyAgents.set(key, agent);
    return agent;
  }
}

function agentWith(connect: buildConnector.connector): Agent {
  return new Agent({
    connections: MAX_CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    connect,
  });
}

function redirectError(response: OutboundResponse): Error {
  const location = URL.parse(response.headers.location ?? '');
  const target = location === null ? '' : msg` to ${location.origin + location.pathname}`;
  return new OutboundError('redirect', {
    detail: msg`The service answered with a redirect (${response.status})${target}, which is not followed. Enter its final address.`,
  });
}

interface ConnectorOptions {
  readonly connectMs: number;
  readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
  /** Throws when one of the addresses must not be called. */
  readonly check: (hostname: string, addresses: readonly LookupAddress[]) => void;
  readonly secureContext?: SecureContext;
}

/**
 * Opens connections to exactly the addresses that were checked: a name is resolved once, here, so a name server that
 * answers differently the second time (DNS rebinding) has no effect.
 */
function connectorFor(options: ConnectorOptions): buildConnector.connector {
  return buildConnector({
    timeout: options.connectMs,
    // Pausing one HTTP/2 stream would not pause its socket.
    allowH2: false,
    lookup: checkedLookup(options),
    ...(options.secureContext !== undefined && { secureContext: options.secureContext }),
  });
}

function checkedLookup({ resolve, check }: ConnectorOptions): LookupFunction {
  const checked = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname);
    check(hostname, addresses);
    if (addresses.length === 0) throw Object.assign(new Error('No address'), { code: 'ENOTFOUND' });
    return addresses;
  };
  return (hostname, options, callback) => {
    checked(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) =>
        callback(error instanceof Error ? error : new Error('Not resolved', { cause: error }), []),
    );
  };
}

/** How long a discarded answer may continue before its connection is destroyed. */
const DRAIN_MS = 100;
const DRAIN_BYTES = 64 * 1024;

/**
 * One request and its answer on undici's dispatch interface: no stream object, no promise per chunk. Chunks of one
 * socket read are handed over together; a chunk that arrives while the reader is busy pauses the socket, so at most
 * one read is buffered. Besides pausing, it stops the total time-out while paused and drains a discarded answer. A stream of
 * undici takes 0 to 9 % more processor time for 20 chunks and the same for 200.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<OutboundResponse>;
  private readonly total?: PausableTimeout;
  private drain?: NodeJS.Timeout;
  private controller?: Dispatcher.DispatchController;
  private chunks: Buffer[] = [];
  private drainedBytes = 0;
  private failure?: Error;
  private ended = false;
  private discarded = false;
  private paused = false;
  /** The headers were reported and the body is not read yet: the rest of this socket read belongs to the body. */
  private handingOver = false;
  private wakeReader?: () => void;
  private readonly answer: PromiseWithResolvers<OutboundResponse>;

  constructor(
    private readonly signal: AbortSignal,
    totalMs: number | undefined,
    private readonly onSend?: () => void,
  ) {
    this.answer = Promise.withResolvers<OutboundResponse>();
    this.response = this.answer.promise;
    signal.addEventListener('abort', this.onAbort, { once: true });
    if (totalMs !== undefined) {
      this.total = new PausableTimeout(totalMs, () =>
        this.abort(new OutboundError('timeout-total')),
      );
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failure === undefined) this.onSend?.();
    else controller.abort(this.failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // 1xx answers precede the real one.
    if (status < 200) return;
    // The first bytes mostly arrive with the headers, before the caller can request them.
    this.handingOver = true;
    setImmediate(() => (this.handingOver = false));
    this.answer.resolve({
      status,
      headers,
      body: { [Symbol.asyncIterator]: () => this.reader() },
      text: (limitBytes) => this.text(limitBytes),
      discard: () => this.discard(),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.discarded) {
      this.drainedBytes += chunk.length;
      if (this.drainedBytes > DRAIN_BYTES) this.abort(new OutboundError('aborted'));
      return;
    }
    // undici's parser reports an empty piece when it is resumed; pausing on it would loop forever.
    if (chunk.length === 0) return;
    this.chunks.push(chunk);
    if (this.handingOver) return;
    if (this.wakeReader !== undefined) {
      this.handingOver = true;
      this.wake();
    } else if (!this.paused) {
      this.paused = true;
      this.total?.pause();
      controller.pause();
    }
  }

  onResponseEnd(): void {
    this.ended = true;
    this.settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failure ??= outboundErrorOf(error);
    this.answer.reject(this.failure);
    this.settle();
  }

  private readonly onAbort = (): void => this.abort(new OutboundError('aborted'));

  /** Destroys the socket at once; before it is connected, the request is dropped instead of sent. */
  private abort(reason: OutboundError): void {
    if (this.ended || this.failure !== undefined) return;
    this.failure = reason;
    this.controller?.abort(reason);
    this.answer.reject(reason);
    this.settle();
  }

  private settle(): void {
    this.signal.removeEventListener('abort', this.onAbort);
    this.total?.clear();
    clearTimeout(this.drain);
    this.wake();
  }

  private wake(): void {
    const wake = this.wakeReader;
    this.wakeReader = undefined;
    wake?.();
  }

  private reader(): AsyncIterator<Buffer> {
    return {
      next: () => this.next(),
      return: () => {
        if (!this.discarded) this.abort(new OutboundError('aborted'));
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  private async next(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.isWaiting()) {
      this.resume();
      // Resuming may synchronously deliver what undici buffered.
      if (this.isWaiting()) {
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
    }
    this.handingOver = false;
    if (this.discarded) return { done: true, value: undefined };
    const [first] = this.chunks;
    if (first !== undefined) {
      const value = this.chunks.length === 1 ? first : Buffer.concat(this.chunks);
      this.chunks = [];
      return { done: false, value };
    }
    if (this.failure !== undefined) throw this.failure;
    return { done: true, value: undefined };
  }

  private isWaiting(): boolean {
    return this.chunks.length === 0 && !this.ended && !this.discarded && this.failure === undefined;
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.total?.resume();
    this.controller?.resume();
  }

  private async text(limitBytes: number): Promise<string> {
    const read: Buffer[] = [];
    let bytes = 0;
    for (let item = await this.next(); item.done !== true; item = await this.next()) {
      bytes += item.value.length;
      if (bytes > limitBytes) {
        const error = new OutboundError('too-large');
        this.abort(error);
        throw error;
      }
      read.push(item.value);
    }
    return Buffer.concat(read).toString('utf8');
  }

  private discard(): void {
    if (this.discarded) return;
    this.discarded = true;
    this.chunks = [];
    if (this.ended || this.failure !== undefined) return;
    this.drain = setTimeout(() => this.abort(new OutboundError('aborted')), DRAIN_MS);
    this.resume();
    this.wake();
  }
}

/** The pieces of a body. Fails with OutboundError `too-large`, and discards the rest, at more bytes than the limit. */
export async function* limitedBody(
  body: AsyncIterable<Buffer>,
  limitBytes: number,
): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > limitBytes) throw new OutboundError('too-large');
    yield piece;
  }
}

/** Calls back once, after a time that stops while paused. */
class PausableTimeout {
  private timer?: NodeJS.Timeout;
  private startedAt = 0;
  private remainingMs: number;

  constructor(
    milliseconds: number,
    private readonly onTimeout: () => void,
  ) {
    this.remainingMs = milliseconds;
    this.resume();
  }

  pause(): void {
    if (this.timer === undefined) return;
    this.clear();
    this.remainingMs = Math.max(0, this.remainingMs - (performance.now() - this.startedAt));
  }

  resume(): void {
    if (this.timer !== undefined) return;
    this.startedAt = performance.now();
    this.timer = setTimeout(this.onTimeout, this.remainingMs);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
