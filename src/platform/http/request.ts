import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { ServerResponse } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import Bowser from 'bowser';
import { languageOf, msg, textIn } from '../message/index.js';
import type { Language, Message } from '../message/index.js';
import { answerRefusal } from '../error/index.js';
import type { FailureShape } from '../error/index.js';

/** The data of a request that log lines, audit entries, addresses and messages in answers need. Nothing else is passed this way. */
export interface RequestContext {
  readonly id: string;
  readonly ip: string | undefined;
  /** The address by which the client reaches the API, without a final slash; undefined if its headers name none. */
  readonly baseAddress: string | undefined;
  /** The language of messages to the client, by its header Accept-Language. */
  readonly language: Language;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** The context of the request that this code runs for; undefined in a job or a timer. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

/** The form of a request id that a client may send, so that its logs and ours can be matched. */
const CLIENT_ID_FORM = /^[\w-]{8,64}$/;

/** The first middleware: gives the request its id, also in the header X-Request-Id. */
export function requestContext(request: Request, response: Response, next: NextFunction): void {
  const header = request.headers['x-request-id'];
  const id = typeof header === 'string' && CLIENT_ID_FORM.test(header) ? header : randomUUID();
  Object.assign(request, { id });
  response.setHeader('X-Request-Id', id);
  const language = languageOf(request.headers['accept-language']);
  const context = { id, ip: request.ip, baseAddress: baseAddressOf(request), language };
  storage.run(context, next);
}

/** Whether the request only reads, so that a page or a file may answer it. */
export function isRead({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

const HOST_FORM = /^(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/i;
const PREFIX_FORM = /^(?:\/[\w.-]+)+$/;

/**
 * Express reads X-Forwarded-Proto and X-Forwarded-Host of a trusted proxy (TRUST_PROXY). X-Forwarded-Prefix, the path that
 * such a proxy has removed, is read under the same condition.
 */
function baseAddressOf(request: Request): string | undefined {
  const host = request.host as string | undefined;
  if (host === undefined || !HOST_FORM.test(host)) return undefined;
  return `${request.protocol}://${host}${prefixOf(request)}`;
}

function prefixOf(request: Request): string {
  const prefix = request.headers['x-forwarded-prefix'];
  if (typeof prefix !== 'string' || !PREFIX_FORM.test(prefix)) return '';
  const isTrusted = request.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  return isTrusted(request.socket.remoteAddress ?? '', 0) ? prefix : '';
}

const MAX_ADDRESS_CHARS = 64;

/**
 * The key by which limits count a client: its IPv4 address, or the /64 network of its IPv6 address, because one customer of a
 * provider has a whole /64. The address is that of the request, which follows TRUST_PROXY.
 */
export function clientNetwork(ip: string | null | undefined): string {
  const address = (ip ?? 'unknown').slice(0, MAX_ADDRESS_CHARS);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(address) !== 6) return address;
  const bytes = bytesOfIpv6(address.replace(/%.*$/, ''));
  const network = [0, 2, 4, 6].map((at) => bytes.readUInt16BE(at).toString(16));
  return `${network.join(':')}::/64`;
}

/** The 16 bytes of a valid IPv6 address, a dotted IPv4 tail included. */
export function bytesOfIpv6(address: string): Buffer {
  const [dotted = ''] = /[\d.]*\.[\d.]*$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  const groupsOfDotted = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const hex = dotted === '' ? address : address.slice(0, -dotted.length) + groupsOfDotted;
  const [head = [], tail = []] = hex
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The browser and the system of a client by name, as its User-Agent header reports them. */
interface ClientSoftware {
  /** The browser, such as "Chrome 129"; for other programs the first word of the header; null without a header. */
  readonly browser: string | null;
  /** The system, such as "Windows 10"; null if the header does not name it. */
  readonly os: string | null;
}

const MAX_USER_AGENT_CHARS = 300;
const MAX_NAME_CHARS = 50;

export function clientSoftware(userAgent: string | null | undefined): ClientSoftware {
  const header = (userAgent ?? '').trim().slice(0, MAX_USER_AGENT_CHARS);
  if (header === '') return { browser: null, os: null };
  const { browser, os } = Bowser.parse(header);
  const version = os.name === 'Windows' ? os.versionName : os.version;
  return {
    browser: browser.name
      ? withVersion(browser.name, browser.version?.split('.', 1)[0])
      : (header.split(/\s/, 1)[0] ?? '').replace('/', ' ').slice(0, MAX_NAME_CHARS),
    os: os.name ? withVersion(os.name, version) : null,
  };
}

function withVersion(name: string, version: string | undefined): string {
  return (version ? `${name} ${version}` : name).slice(0, MAX_NAME_CHARS);
}

const IGNORED_HEADER = 'x-plinth-ignored';

/** Limit of the header, so that a client with many odd parameters still gets its answer. */
const MAX_HEADER_CHARS = 1_000;

const ignoredNames = new WeakMap<ServerResponse, string>();

/**
 * Parameters of a model call that were left out: a header of the answer names them, unless it has begun. The line of the request
 * log has them in any case.
 */
export function setIgnoredParameters(response: ServerResponse, names: readonly string[]): void {
  if (names.length === 0) return;
  // Names are fields of JSON, and a header takes printable characters alone.
  const list = names.map((name) => name.replaceAll(/[^\w.[\]-]/g, '_')).join(', ');
  const value = list.slice(0, MAX_HEADER_CHARS);
  ignoredNames.set(response, value);
  if (!response.headersSent) response.setHeader(IGNORED_HEADER, value);
}

/** The names, separated by commas; undefined if there are none. */
export function ignoredParameters(response: ServerResponse): string | undefined {
  return ignoredNames.get(response);
}

const SEVERAL_HOSTS = msg`The request has more than one Host header. Send one.`;

/**
 * Refuses requests with several Host headers, of which a proxy may have read another one than this service would (RFC 9112, 3.2). Node.js
 * keeps the first.
 */
export function oneHost(shapes: readonly FailureShape[]): RequestHandler {
  return (request, response, next) => {
    const names = request.rawHeaders.filter((_, index) => index % 2 === 0);
    if (names.filter((name) => name.toLowerCase() === 'host').length < 2) {
      next();
      return;
    }
    response.set('Connection', 'close');
    answerRefusal(request, response, { code: 400, message: SEVERAL_HOSTS, shapes });
  };
}

/**
 * Several handlers as one layer of Express. Six layers before the routes took an eighth of the throughput of 20-chunk
 * answers.
 */
export function compose(...handlers: readonly RequestHandler[]): RequestHandler {
  return (request, response, next) => {
    const from =
      (index: number): NextFunction =>
      (error?: unknown) => {
        const handler = handlers[index];
        if (error !== undefined || !handler) next(error);
        else void handler(request, response, from(index + 1));
      };
    from(0)();
  };
}

/** The text of a message in a view, or in a frame of a stream, in the language of the request. */
export function localized(message: Message): string;
export function localized(message: Message | null): string | null;
export function localized(message: Message | null): string | null {
  return message && textIn(currentRequest()?.language ?? 'en', message);
}
