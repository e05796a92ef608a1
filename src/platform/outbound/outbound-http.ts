import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction, Socket } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { Agent, buildConnector } from 'undici';
import { msg, phrase } from '../message/index.js';
import { AddressSafety } from './address-safety.js';
import { Exchange } from './exchange.js';
import type { OutboundRequest, OutboundResponse } from './outbound-call.js';
import { ForbiddenAddressError, OutboundError } from './outbound.errors.js';
import { Proxies, proxyConnector } from './proxy.js';
import type { Proxy, ProxySettings } from './proxy.js';

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

/** Enough for all concurrent streams of one process. */
const CONNECTIONS_PER_ORIGIN = 2048;
const KEEP_ALIVE_MS = 20_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;
const PROXY_AUTHENTICATION_REQUIRED = 407;

/**
 * The one HTTP client for addresses that users enter: every address is checked, connections are made to exactly the
 * checked address, and redirects are refused. Behind a proxy, the proxy resolves names: the address itself is checked,
 * what its name resolves to is not.
 */
export class OutboundHttp {
  private readonly safety: AddressSafety;
  private readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
  /** Parsed once, because a list of CA certificates takes milliseconds. */
  private readonly trust?: SecureContext;
  private readonly proxies: Proxies;
  /** Keyed by connect time-out, which undici sets per connection, not per request. */
  private readonly agents = new Map<number, Agent>();
  private readonly proxyAgents = new Map<string, Agent>();
  /** The rules never change, so an address that passed them once passes again. */
  private readonly checked = new LRUCache<string, URL>({ max: 1_000 });
  private closed = false;

  constructor(options: OutboundHttpOptions) {
    this.safety = new AddressSafety(options);
    this.resolve = options.resolve ?? ((hostname) => lookup(hostname, { all: true }));
    const { authorities, ca = authorities && [...rootCertificates, ...authorities] } = options;
    if (ca !== undefined) this.trust = createSecureContext({ ca });
    this.proxies = new Proxies(options.proxies ?? {}, this.trust);
  }

  /** How certificates are verified: options of `tls.connect`. */
  get tlsOptions(): { readonly secureContext?: SecureContext } {
    return this.trust === undefined ? {} : { secureContext: this.trust };
  }

  usesProxy(url: URL): boolean {
    return this.proxies.of(url) !== undefined;
  }

  /**
   * A connection to the service of an address that was checked, through its proxy: the tunnel for https, the proxy itself
   * for http. Rejects with OutboundError `proxy`, or with the reason of the signal.
   */
  async openProxy(url: URL, signal: AbortSignal): Promise<Socket> {
    const proxy = this.proxies.of(url);
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
    throw ForbiddenAddressError.unlessAllowed(phrase`http without TLS`);
  }

  /**
   * Sends one request. A status below 300 or from 400 on is an answer; a redirect is an OutboundError. Rejects with
   * ForbiddenAddressError or OutboundError.
   */
  async request(address: string, request: OutboundRequest): Promise<OutboundResponse> {
    const url = this.checkedUrl(address);
    if (this.closed || request.signal.aborted) throw new OutboundError('aborted');
    const exchange = new Exchange(request.signal, request.timeouts.totalMs);
    const proxy = this.proxies.of(url);
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
    if (response.status >= 300 && response.status < 400) {
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
    const known = this.checked.get(address);
    if (known !== undefined) return known;
    const url = this.safety.check(address);
    this.checked.set(address, url);
    return url;
  }

  private agentFor(connectMs: number): Agent {
    const known = this.agents.get(connectMs);
    if (known !== undefined) return known;
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
    const known = this.proxyAgents.get(key);
    if (known !== undefined) return known;
    const mode = proxy.setting === 'HTTPS_PROXY' ? 'tunnel' : 'forward';
    const agent = agentWith(proxyConnector(proxy, mode, { connectMs, trust: this.trust }));
    this.proxyAgents.set(key, agent);
    return agent;
  }
}

function agentWith(connect: buildConnector.connector): Agent {
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
    connect,
  });
}

function redirectError(response: OutboundResponse): Error {
  const location = URL.parse(response.headers.location ?? '');
  const target = location === null ? '' : phrase` to ${location.origin + location.pathname}`;
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
