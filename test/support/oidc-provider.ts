import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Events, OAuth2Issuer, OAuth2Service } from 'oauth2-mock-server';
import type { MutableResponse, MutableToken } from 'oauth2-mock-server';
import { canary } from './canary.js';

export const CLIENT_ID = 'plinth-test';
export const CLIENT_SECRET = 'a-client-secret-of-the-tests';

type Claims = Readonly<Record<string, unknown>>;
type Alter = (token: MutableToken) => void;

interface Grant {
  readonly person: Claims;
  readonly sid: string;
}

/**
 * An OpenID provider of the tests' own: oauth2-mock-server, which signs tokens, checks PKCE and keeps the nonce, behind the
 * checks that it leaves out: the client's secret, codes for one use, and refresh tokens of people who are still there.
 */
export class OidcProvider {
  /** Who signs in next. */
  person: Claims = { sub: 'jo' };
  /** What the userinfo endpoint says beside `sub`. */
  userInfo: Claims = {};
  /** Changes the next id tokens before they are signed. */
  alter: Alter | undefined;
  /** Answers HTTP 503 to everything. */
  isDown = false;
  /** Answers of the authorization endpoint: an error instead of a code. */
  refuses: string | undefined;
  refreshes = 0;
  refusedWhileDown = 0;
  private readonly issuer = new OAuth2Issuer();
  private readonly service = new OAuth2Service(this.issuer);
  private readonly codes = new Map<string, Grant>();
  private readonly refreshTokens = new Map<string, Grant>();
  private readonly sids = new Map<string, readonly string[]>();
  private readonly removed = new Set<unknown>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
    const { service } = this;
    service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }: MutableResponse) => {
      Object.assign(body, {
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        backchannel_logout_supported: true,
      });
    });
    service.on(Events.BeforeAuthorizeRedirect, ({ url }: { url: URL }) => {
      const code = url.searchParams.get('code') ?? '';
      if (this.refuses !== undefined) {
        url.searchParams.delete('code');
        url.searchParams.set('error', this.refuses);
        return;
      }
      canary.protect('code of a provider', code);
      const { person } = this;
      const subject = String(person['sub']);
      const sid = randomUUID();
      this.sids.set(subject, [...this.sidsOf(subject), sid]);
      this.codes.set(code, { person, sid });
    });
    service.on(Events.BeforeUserinfo, (answer: MutableResponse) => {
      answer.body = { ...this.userInfo, ...subjectOf(this.person) };
    });
  }

  static async start(): Promise<OidcProvider> {
    const provider = new OidcProvider();
    await provider.issuer.keys.generate('RS256');
    await new Promise<void>((resolve) => provider.server.listen(0, '127.0.0.1', resolve));
    provider.issuer.url = provider.url;
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Their refresh tokens are refused from now on. */
  remove(subject: string): void {
    this.removed.add(subject);
  }

  restore(subject: string): void {
    this.removed.delete(subject);
  }

  /** The sessions that a person has begun here. */
  sidsOf(subject: string): readonly string[] {
    return this.sids.get(subject) ?? [];
  }

  /** An issuer of the same name whose key is not shown. */
  async signWithOther(): Promise<OAuth2Issuer> {
    const other = new OAuth2Issuer();
    await other.keys.generate('RS256');
    other.url = this.url;
    return other;
  }

  /** A logout token by OpenID Connect Back-Channel Logout 1.0, with these claims instead of its own. */
  async logoutToken(claims: Claims, issuer = this.issuer): Promise<string> {
    const token = await issuer.buildToken({
      expiresIn: 120,
      scopesOrTransform: (header, payload) => {
        header['typ'] = 'logout+jwt';
        Object.assign(payload, {
          aud: CLIENT_ID,
          jti: randomUUID(),
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          ...claims,
        });
      },
    });
    canary.protect('logout token', token);
    return token;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDown) {
      this.refusedWhileDown += 1;
      response.writeHead(503, { 'content-type': 'text/plain' }).end('Down');
      return;
    }
    if (request.method !== 'POST' || request.url !== '/token') {
      this.service.requestHandler(request, response);
      return;
    }
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const body = new URLSearchParams(text);
    if (request.headers.authorization !== expectedAuthorization()) {
      fail(response, 401, 'invalid_client');
      return;
    }
    const grant = this.grantOf(body);
    if (!grant) {
      fail(response, 400, 'invalid_grant');
      return;
    }
    this.answerTokens(grant, response, () => {
      const { method, url, headers } = request;
      const replayed = Object.assign(new IncomingMessage(new Socket()), { method, url, headers });
      replayed.push(text);
      replayed.push(null);
      this.service.requestHandler(replayed, response);
    });
  }

  private grantOf(body: URLSearchParams): Grant | undefined {
    const from = body.get('grant_type') === 'refresh_token' ? this.refreshTokens : this.codes;
    const key = body.get(from === this.codes ? 'code' : 'refresh_token') ?? '';
    const grant = from.get(key);
    // Both are for one use: refresh tokens are rotated.
    from.delete(key);
    if (from === this.refreshTokens) this.refreshes += 1;
    return grant && !this.removed.has(grant.person['sub']) ? grant : undefined;
  }

  /** The tokens of one answer are built one after the other, and none of another answer between. */
  private answerTokens(grant: Grant, response: ServerResponse, answer: () => void): void {
    const sign = (token: MutableToken): void => {
      Object.assign(token.payload, grant.person);
      if (token.payload['aud'] === undefined) return;
      token.payload['aud'] = CLIENT_ID;
      token.payload['sid'] = grant.sid;
      this.alter?.(token);
    };
    const finish = ({ body }: MutableResponse): void => {
      if (body === '' || typeof body['refresh_token'] !== 'string') return;
      canary.protect('refresh token', body['refresh_token']);
      this.refreshTokens.set(body['refresh_token'], grant);
    };
    const { service } = this;
    const queued = this.answering.then(
      () =>
        new Promise<void>((resolve) => {
          service.on(Events.BeforeTokenSigning, sign);
          service.on(Events.BeforeResponse, finish);
          response.once('close', () => {
            service.off(Events.BeforeTokenSigning, sign);
            service.off(Events.BeforeResponse, finish);
            resolve();
          });
          answer();
        }),
    );
    this.answering = queued;
  }

  private answering: Promise<void> = Promise.resolve();
}

function expectedAuthorization(): string {
  return `Basic ${Buffer.from(`${encode(CLIENT_ID)}:${encode(CLIENT_SECRET)}`).toString('base64')}`;
}

/** RFC 6749, 2.3.1: as in a form, where a hyphen may be escaped too. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[-_.!~*'()]/g, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  });
}

function subjectOf({ sub }: Claims): Claims {
  return { sub };
}

function fail(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}
