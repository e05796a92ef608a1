import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { msg } from '../message/index.js';
import { HostList } from './host-list.js';
import { OutboundError, outboundErrorOf } from './outbound.errors.js';

/** The operator's proxies, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY name them. */
export interface ProxySettings {
  /** Proxy of https addresses. The user name and the password in the URL are sent to it. */
  readonly httpsProxy?: string | undefined;
  /** Proxy of http addresses. */
  readonly httpProxy?: string | undefined;
  readonly noProxy?: readonly string[] | undefined;
}

/** Chooses the proxy of an address. */
export class Proxies {
  private readonly https?: Proxy;
  private readonly http?: Proxy;
  private readonly bypassed: HostList;

  constructor({ httpsProxy, httpProxy, noProxy = [] }: ProxySettings, trust?: SecureContext) {
    if (httpsProxy !== undefined) this.https = new Proxy(httpsProxy, 'HTTPS_PROXY', trust);
    if (httpProxy !== undefined) this.http = new Proxy(httpProxy, 'HTTP_PROXY', trust);
    this.bypassed = new HostList(noProxy, { withSubdomains: true });
  }

  /** The proxy of an address; undefined if it is called directly. */
  of(url: URL): Proxy | undefined {
    const proxy = url.protocol === 'https:' ? this.https : this.http;
    return proxy === undefined || this.bypassed.has(url) ? undefined : proxy;
  }
}

/** One HTTP proxy, reached by http or https. */
export class Proxy {
  readonly origin: string;
  /** The headers that identify this service to the proxy. */
  readonly headers: Readonly<Record<string, string>>;
  private readonly url: URL;

  constructor(
    address: string,
    /** The setting that names the proxy; error messages repeat it. */
    readonly setting: 'HTTPS_PROXY' | 'HTTP_PROXY',
    private readonly trust?: SecureContext,
  ) {
    this.url = new URL(address);
    this.origin = this.url.origin;
    const { username, password } = this.url;
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.headers =
      login === ':'
        ? {}
        : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
  }

  /** A connection to the proxy itself, for http addresses. Rejects with OutboundError `proxy`. */
  async connect(signal: AbortSignal): Promise<Socket> {
    const connector = buildConnector({
      timeout: 0,
      allowH2: false,
      ...(this.trust !== undefined && { secureContext: this.trust }),
    });
    const { protocol, hostname, host, port } = this.url;
    const bare = hostname.replace(/^\[(.*)\]$/, '$1');
    const opening = Promise.withResolvers<Socket>();
    connector({ protocol, hostname: bare, host, port }, (error, socket) => {
      if (error !== null) opening.reject(this.unreachable(error));
      else if (signal.aborted) socket.destroy();
      else opening.resolve(socket);
    });
    return abortable(opening.promise, signal);
  }

  /**
   * A connection to host and port through the proxy (CONNECT), without TLS. Rejects with OutboundError `proxy` when the
   * proxy cannot be reached or refuses, and with the reason of the signal.
   */
  async tunnel(host: string, port: number, signal: AbortSignal): Promise<Socket> {
    const socket = await this.connect(signal);
    const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const connecting = Promise.withResolvers<Socket>();
    const onClose = (): void => connecting.reject(this.unreachable());
    socket.once('close', onClose);
    const request = httpRequest({
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...this.headers },
      createConnection: () => socket,
    });
    request.once('connect', (response: IncomingMessage, _socket: Socket, head: Buffer) => {
      const status = response.statusCode ?? 0;
      if (head.length > 0) socket.unshift(head);
      if (status >= 200 && status < 300) connecting.resolve(socket);
      else connecting.reject(this.refusal(status));
    });
    request.on('error', (error) => connecting.reject(this.unreachable(error)));
    request.end();
    try {
      await abortable(connecting.promise, signal);
      socket.off('close', onClose);
      return socket;
    } catch (error) {
      socket.on('error', () => undefined).destroy();
      throw error;
    }
  }

  /** The error for a refusal by the proxy itself. */
  refusal(status: number): OutboundError {
    const { setting } = this;
    if (status === 407) {
      return new OutboundError('proxy', {
        detail: msg`The proxy asks for credentials (407). Check ${setting}.`,
      });
    }
    return new OutboundError('proxy', {
      detail: msg`The proxy refused to connect to the service (${status}). Check the address, and whether the proxy of ${setting} allows it.`,
      retryable: status >= 500,
    });
  }

  private unreachable(cause?: unknown): OutboundError {
    const { setting } = this;
    const isTls = outboundErrorOf(cause);
    const detail =
      isTls instanceof OutboundError && isTls.kind === 'tls'
        ? msg`The certificate of the proxy could not be verified. Check ${setting}, and set OUTBOUND_CA_FILE to its certificate authority.`
        : msg`The proxy could not be reached. Check ${setting} and that the proxy is running.`;
    return new OutboundError('proxy', { cause, detail, retryable: true });
  }
}

/** Rejects with the reason of the signal as soon as it is aborted. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void =>
    aborted.reject(signal.reason instanceof Error ? signal.reason : new Error('Aborted'));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
}

interface TunnelOptions {
  /** Time limit for the proxy, the tunnel and TLS with the service together. */
  readonly connectMs: number;
  readonly trust?: SecureContext | undefined;
}

/**
 * Opens connections by way of the proxy: `tunnel` ones to https services, `forward` ones to the proxy itself, which takes
 * requests for http services.
 */
export function proxyConnector(
  proxy: Proxy,
  mode: 'tunnel' | 'forward',
  { connectMs, trust }: TunnelOptions,
): buildConnector.connector {
  const secure = buildConnector({
    timeout: connectMs,
    allowH2: false,
    ...(trust !== undefined && { secureContext: trust }),
  });
  return (options, callback) => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new OutboundError('timeout-connect')), connectMs);
    const opening =
      mode === 'tunnel'
        ? proxy.tunnel(options.hostname, Number(options.port) || 443, limit.signal)
        : proxy.connect(limit.signal);
    opening
      .finally(() => clearTimeout(timer))
      .then(
        (socket) => {
          if (mode === 'tunnel') secure({ ...options, httpSocket: socket }, callback);
          else callback(null, socket);
        },
        (error: unknown) => callback(outboundErrorOf(error), null),
      );
  };
}
