import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { isBlank } from '../platform/http/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { ClientDocumentError, OAuthError, UnknownClientError } from './oauth.errors.js';
import { isRedirectUri } from './redirect-uri.js';

export interface OAuthClient {
  readonly id: string;
  /** As the client calls itself. */
  readonly name: string;
  readonly redirectUris: readonly string[];
}

const REGISTRATION_SECONDS = 90 * 86_400;
/** Limit of all addresses of a registration, which its client id contains. */
const MAX_URIS_CHARS = 1_000;
const MAX_NAME_CHARS = 100;

const CLIENT_ID = /^client-([\w-]+)\.([\w-]{43})$/;

/** What a client id of a registration says. */
const registration = z.object({
  name: z.string(),
  uris: z.array(z.string()),
  /** In seconds since the epoch. */
  end: z.number(),
});

/** A client id metadata document (draft-ietf-oauth-client-id-metadata-document). */
const clientDocument = z.object({
  client_id: z.string(),
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string().max(2_000)).min(1).max(50),
});

const MAX_DOCUMENT_BYTES = 10 * 1_024;
const DOCUMENT_TIMEOUTS = { connectMs: 5_000, idleMs: 5_000, totalMs: 10_000 };
const DOCUMENT_CACHE_MS = 5 * 60_000;
const MAX_DOCUMENTS = 500;

/**
 * Clients of OAuth: those that have registered, and those whose id is the address of their description. All are public. A
 * registration is not stored: the client id is what was registered, signed, so that registering needs neither limits of rows nor a
 * sweep.
 */
@Injectable()
export class OAuthClients {
  private readonly documents = new LRUCache<string, OAuthClient>({
    max: MAX_DOCUMENTS,
    ttl: DOCUMENT_CACHE_MS,
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly http: OutboundHttp,
  ) {}

  register(name: string | undefined, redirectUris: readonly string[]): OAuthClient {
    if (redirectUris.length === 0) {
      throw new OAuthError('invalid_redirect_uri', 'redirect_uris must have an address.');
    }
    const wrong = redirectUris.find((uri) => !isRedirectUri(uri));
    if (wrong !== undefined) {
      throw new OAuthError(
        'invalid_redirect_uri',
        `${wrong.slice(0, 200)} is neither an https address nor one of this computer or of a scheme of the client.`,
      );
    }
    if (redirectUris.join('').length > MAX_URIS_CHARS) {
      const description = `redirect_uris must have at most ${MAX_URIS_CHARS} characters in all.`;
      throw new OAuthError('invalid_client_metadata', description);
    }
    const clientName = shownName(name, redirectUris[0]);
    const end = Math.floor(Date.now() / 1_000) + REGISTRATION_SECONDS;
    const facts = JSON.stringify({ name: clientName, uris: redirectUris, end });
    const text = Buffer.from(facts).toString('base64url');
    const id = `client-${text}.${this.signatureOf(text).toString('base64url')}`;
    return { id, name: clientName, redirectUris };
  }

  /** Throws ClientError if there is no such client, or its description cannot be read. */
  async find(id: string, signal: AbortSignal): Promise<OAuthClient> {
    return id.startsWith('https://') ? this.described(id, signal) : this.registered(id);
  }

  /** Whether the id cannot be used any longer, so that its client must register again. */
  isExpired(id: string): boolean {
    if (id.startsWith('https://')) return false;
    try {
      this.registered(id);
      return false;
    } catch {
      return true;
    }
  }

  private registered(id: string): OAuthClient {
    const [, text = '', signature = ''] = CLIENT_ID.exec(id) ?? [];
    const received = Buffer.from(signature, 'base64url');
    const expected = this.signatureOf(text);
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) {
      throw new UnknownClientError();
    }
    const facts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const { name, uris, end } = registration.parse(facts);
    if (end * 1_000 <= Date.now()) throw new UnknownClientError();
    return { id, name, redirectUris: uris };
  }

  /** The words before the text tell it from everything else that is signed with the key, such as the tokens of sign-ins. */
  private signatureOf(text: string): Buffer {
    return createHmac('sha256', this.config.tokenKey).update(`OAuth client ${text}`).digest();
  }

  private async described(id: string, signal: AbortSignal): Promise<OAuthClient> {
    const cached = this.documents.get(id);
    if (cached) return cached;
    const url = URL.parse(id);
    const isAddress =
      url?.href === id && url.pathname !== '/' && !url.hash && !url.username && !url.password;
    if (!isAddress) throw new UnknownClientError();
    const client = await this.read(id, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new ClientDocumentError(id.slice(0, 200), error);
    });
    this.documents.set(id, client);
    return client;
  }

  private async read(id: string, signal: AbortSignal): Promise<OAuthClient> {
    const response = await this.http.request(id, {
      method: 'GET',
      headers: { accept: 'application/json' },
      signal,
      timeouts: DOCUMENT_TIMEOUTS,
    });
    if (response.status !== 200) {
      response.discard();
      throw new Error(`HTTP ${response.status}`);
    }
    const document = clientDocument.parse(JSON.parse(await response.text(MAX_DOCUMENT_BYTES)));
    if (document.client_id !== id) throw new Error('The document is that of another client.');
    const redirectUris = document.redirect_uris.filter(isRedirectUri);
    return { id, name: shownName(document.client_name, id), redirectUris };
  }
}

/** A name that shows what it is: without control characters, and characters that change the direction of the text. */
function shownName(name: string | undefined, address = ''): string {
  const cleaned = (name ?? '')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_CHARS)
    .toWellFormed();
  return isBlank(cleaned)
    ? (URL.parse(address)?.host ?? '').slice(0, MAX_NAME_CHARS) || '–'
    : cleaned;
}
