import { request } from 'undici';
import { canary } from './canary.js';
import { CLIENT_ID, CLIENT_SECRET } from './oidc-provider.js';
import type { OidcProvider } from './oidc-provider.js';
import { done, PASSWORD } from './people.js';
import type { Plinth } from './plinth.js';
import { Session } from './session.js';
import type { Answer } from './session.js';
import { WEB_CLIENT } from './template.js';

export interface MadeProvider {
  readonly id: number;
  readonly publicId: string;
}

/** Connects a tenant with the provider. */
export async function connectProvider(
  by: Session,
  provider: OidcProvider,
  fields: object = {},
): Promise<MadeProvider> {
  const { data: id } = done(
    await by.post<number>('/system/sso', {
      ...{ name: 'Company', issuer: provider.url, allowCreate: true },
      ...{ clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, ...fields },
    }),
  );
  const { redirectUri } = done(await by.get<{ redirectUri: string }>(`/system/sso/${id}`)).data;
  return { id, publicId: redirectUri.split('/').at(-2) ?? '' };
}

export interface SsoLanding {
  readonly address: URL;
  /** Why the sign-in was refused; null for one that was not. */
  readonly refusal: string | null;
  /** To be exchanged for a token; undefined for a refused sign-in. */
  readonly code: string | undefined;
}

/** A browser that signs in by a provider. */
export class SsoBrowser {
  private cookie = '';

  constructor(private readonly plinth: Plinth) {}

  /** Begins a sign-in; answers where the browser is led to. */
  async start(publicId: string, returnTo?: string): Promise<URL> {
    const query = new URLSearchParams({ clientId: WEB_CLIENT, ...(returnTo && { returnTo }) });
    return this.open(new URL(`/auth/sso/${publicId}/start?${query.toString()}`, this.plinth.url));
  }

  /** Goes where a redirect leads, for one step. */
  async open(address: URL): Promise<URL> {
    const isOwn = address.origin === this.plinth.url;
    const { statusCode, headers, body } = await request(address, {
      headers: isOwn && this.cookie !== '' ? { cookie: this.cookie } : {},
    });
    const text = await body.text();
    canary.check(address.pathname, text);
    const [cookie] = [headers['set-cookie'] ?? []].flat();
    if (isOwn && cookie !== undefined) this.cookie = cookie.split(';')[0] ?? '';
    if (statusCode !== 302) throw new Error(`${address.href}: HTTP ${statusCode} ${text}`);
    return new URL(String(headers.location));
  }

  /** The whole way to the sign-in page. */
  async land(publicId: string, returnTo?: string): Promise<SsoLanding> {
    const started = await this.start(publicId, returnTo);
    if (started.origin === this.plinth.url) return landing(started);
    return landing(await this.open(await this.open(started)));
  }

  /** The whole way of a signed-in user, to the page that was asked for. */
  async connect(session: Session, publicId: string, returnTo?: string): Promise<SsoLanding> {
    return landing(await this.open(await this.beginConnecting(session, publicId, returnTo)));
  }

  /** The way of a signed-in user to the provider; answers where that leads back to. */
  async beginConnecting(session: Session, publicId: string, returnTo = '/account'): Promise<URL> {
    const body = { returnTo, password: PASSWORD };
    return this.open(await this.begin(session, `/auth/sso/${publicId}/connect`, body));
  }

  /** The address that a route answers to a signed-in user, for this browser to open. */
  protected async begin(session: Session, path: string, body: object): Promise<URL> {
    const { text, headers } = await session.raw('POST', path, body, { cookie: this.cookie });
    const { data } = done(JSON.parse(text) as Answer<{ address: string }>);
    [this.cookie = ''] = String(headers['set-cookie']).split(';');
    return new URL(data.address);
  }

  async exchange(code: string | undefined): ReturnType<Session['post']> {
    const headers = { cookie: this.cookie };
    return new Session(this.plinth.url, headers).post('/auth/sso/exchange', {
      code,
      clientId: WEB_CLIENT,
    });
  }

  /** Signs in. */
  async signIn(publicId: string): Promise<Session> {
    const { code, refusal } = await this.land(publicId);
    if (code === undefined) throw new Error(`The sign-in was refused: ${refusal}`);
    return this.sessionOf(code);
  }

  async sessionOf(code: string): Promise<Session> {
    const { data } = done(await this.exchange(code)) as { data: { access_token: string } };
    const authorization = `Bearer ${data.access_token}`;
    return new Session(this.plinth.url, { authorization, clientid: WEB_CLIENT });
  }
}

export function landing(address: URL): SsoLanding {
  const code = /^#sso=(.+)$/.exec(address.hash)?.[1];
  return { address, refusal: address.searchParams.get('ssoError'), code };
}

/** Sends a logout token as a provider does. */
export async function sendLogout(
  plinth: Plinth,
  publicId: string,
  token: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const { statusCode: status, body } = await request(
    `${plinth.url}/auth/sso/${publicId}/backchannel-logout`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: token }).toString(),
    },
  );
  return { status, text: await body.text() };
}
