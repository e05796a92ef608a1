import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import type { OutboundResponse, OutboundTimeouts } from '../platform/outbound/index.js';
import { displayName, suffixOf, UploadEngine } from '../platform/storage/index.js';
import type { UploadedPart } from '../platform/storage/index.js';

const TIMEOUTS: OutboundTimeouts = { connectMs: 10_000, idleMs: 30_000, totalMs: 10 * 60_000 };
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Suffixes by which the parser knows pages that an address names without one. */
const SUFFIX_OF_TYPE: Readonly<Record<string, string>> = {
  'text/html': '.html',
  'application/xhtml+xml': '.html',
  'application/pdf': '.pdf',
  'text/plain': '.txt',
  'text/markdown': '.md',
};
/** Suffixes of programs that answer pages. */
const PAGE_SUFFIX = /^\.(php\d?|aspx?|jspx?|cgi|com|org|net)$/i;

/** An answer, and the address that gave it after redirects. */
export interface Fetched {
  readonly address: string;
  readonly response: OutboundResponse;
}

/** Reads addresses of documents. Each redirect is checked like the address itself. */
@Injectable()
export class WebFetch {
  constructor(
    private readonly http: OutboundHttp,
    private readonly uploads: UploadEngine,
  ) {}

  /** Throws ForbiddenAddressError for an address that must not be called, or to which a token must not be sent. */
  check(address: string, hasToken: boolean): void {
    if (hasToken) this.http.assertSecureAddress(address);
    else this.http.assertAddressAllowed(address);
  }

  /** `allowed` may refuse the target of a redirect. */
  async get(
    address: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
    allowed: (target: string) => boolean = () => true,
  ): Promise<Fetched> {
    let current = address;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.http.request(current, {
        method: 'GET',
        headers: { accept: '*/*', 'user-agent': USER_AGENT, ...headers },
        signal,
        timeouts: TIMEOUTS,
        redirect: 'answer',
      });
      const { location } = response.headers;
      if (!REDIRECTS.has(response.status) || location === undefined) {
        return { address: current, response };
      }
      response.discard();
      const target = URL.parse(location, current);
      if (!target || redirects === MAX_REDIRECTS || !allowed(target.href)) {
        throw new AddressRefusedError(response.status);
      }
      target.hash = '';
      current = target.href;
    }
  }

  /** Stores what the address answers. */
  async receive(
    address: string,
    name: string | undefined,
    signal: AbortSignal,
  ): Promise<UploadedPart> {
    const fetched = await this.get(address, signal);
    const { status, body } = fetched.response;
    if (status !== 200) {
      fetched.response.discard();
      throw new AddressRefusedError(status);
    }
    return this.uploads.receive(Readable.from(body), name ?? nameOf(fetched), signal);
  }
}

export const USER_AGENT = 'Plinth';

/** The name of a document from the end of its address. */
export function nameOf({ address, response }: Fetched): string {
  const [type = ''] = (response.headers['content-type'] ?? '').split(';');
  const name = fileNameOf(new URL(address).pathname);
  const suffix = SUFFIX_OF_TYPE[type.trim().toLowerCase()];
  const present = suffixOf(name);
  if (suffix === undefined || present.toLowerCase() === suffix) return name;
  if (suffix === '.html' && present.toLowerCase() === '.htm') return name;
  const isPage = suffix === '.html' || PAGE_SUFFIX.test(present);
  return present === '' || isPage ? name + suffix : name;
}

/** The last part of a path or address. */
export function fileNameOf(path: string): string {
  const last = path.split('/').findLast((part) => part !== '') ?? 'index';
  try {
    return displayName(decodeURIComponent(last));
  } catch {
    return displayName(last);
  }
}

export class AddressRefusedError extends InvalidInputError {
  constructor(readonly status: number) {
    super(
      msg`The address answered with status ${status}. Check that it opens without a sign-in, and enter its final address.`,
    );
  }
}
