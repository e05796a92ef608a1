import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  ForbiddenAddressError,
  OutboundError,
  outboundErrorOf,
  OutboundHttp,
} from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { StepLog } from './trial.js';

const STEP_LIMIT_MS = 10_000;

/**
 * Tests the way to a service step by step: name, connection, certificate. It sends nothing. A step that fails
 * throws OutboundError or ForbiddenAddressError; the addresses that are connected to have been checked.
 */
export async function probeConnection(
  url: URL,
  log: StepLog,
  context: { readonly http: OutboundHttp; readonly signal: AbortSignal },
): Promise<void> {
  const { http, signal } = context;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (http.usesProxy(url)) {
    const socket = await log.run(
      'proxy',
      () => limited('proxy', signal, (limit) => http.openProxy(url, limit)),
      () =>
        url.protocol === 'https:'
          ? msg`The proxy has connected to the service.`
          : msg`The proxy was reached.`,
    );
    return probeTls(url, socket, { log, http, signal });
  }
  const addresses = await log.run('dns', () => resolve(host, signal), resolvedTo);
  // A private address can be allowed by the host's name, which only the client itself knows: it decides at the call.
  if (!isAllowed(http, addresses)) return;
  const socket = await log.run(
    'connect',
    () => openSocket(addresses, portOf(url), signal),
    () => msg`Connected.`,
  );
  await probeTls(url, socket, { log, http, signal });
}

async function probeTls(
  url: URL,
  socket: Socket,
  {
    log,
    http,
    signal,
  }: { readonly log: StepLog; readonly http: OutboundHttp; readonly signal: AbortSignal },
): Promise<void> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  try {
    if (url.protocol !== 'https:') return;
    await log.run(
      'tls',
      () => secure(socket, host, { http, signal }),
      (protocol) => msg`The certificate is valid (${protocol}).`,
    );
  } finally {
    socket.destroy();
  }
}

async function resolve(host: string, signal: AbortSignal): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const answers = await limited('dns', signal, (limit) =>
    Promise.race([lookup(host, { all: true }), rejectedBy(limit)]),
  );
  return answers.map((answer) => answer.address);
}

function resolvedTo(addresses: readonly string[]): Message {
  return addresses.length === 1
    ? msg`The name has 1 address.`
    : msg`The name has ${addresses.length} addresses.`;
}

function isAllowed(http: OutboundHttp, addresses: readonly string[]): boolean {
  try {
    http.assertResolvedAllowed(addresses);
    return true;
  } catch (error) {
    if (error instanceof ForbiddenAddressError) return false;
    throw error;
  }
}

/** A connection to the first address that takes one. */
async function openSocket(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const host of addresses) {
    try {
      return await limited('connect', signal, (limit) => opened(host, port, limit));
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function opened(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port });
  // Socket errors have a listener from here on, also after the caller has stopped waiting.
  socket.on('error', () => socket.destroy());
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function secure(
  socket: Socket,
  host: string,
  { http, signal }: { readonly http: OutboundHttp; readonly signal: AbortSignal },
): Promise<string> {
  return limited('tls', signal, async (limit) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secured = connectTls({
      socket,
      host,
      ALPNProtocols: ['http/1.1'],
      ...name,
      ...http.tlsOptions,
    });
    secured.on('error', () => secured.destroy());
    await once(secured, 'secureConnect', { signal: limit });
    return secured.getProtocol() ?? 'TLS';
  });
}

/** Runs one step within its time; what fails becomes an OutboundError of the step's kind. */
async function limited<T>(
  kind: OutboundErrorKind & ('dns' | 'connect' | 'proxy' | 'tls'),
  signal: AbortSignal,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(STEP_LIMIT_MS)]);
  try {
    return await work(limit);
  } catch (error) {
    if (signal.aborted) throw new OutboundError('aborted', { cause: error });
    // A name server that does not answer is a fault of the name, too.
    if (limit.aborted && kind !== 'dns')
      throw new OutboundError('timeout-connect', { cause: error });
    if (kind === 'proxy') throw error;
    const outboundError = outboundErrorOf(error);
    // A certificate error keeps its details.
    if (outboundError instanceof OutboundError && outboundError.kind === kind) throw outboundError;
    throw new OutboundError(kind, { cause: error });
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('Aborted')), { once: true });
  });
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}
