import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { challengeOf, randomText } from '../../src/oauth/secrets.js';
import { canary } from './canary.js';
import { done } from './people.js';
import type { Session } from './session.js';

export const REDIRECT_URI = 'http://127.0.0.1:41234/callback';

/** What an editor keeps for the official client: everything in memory, and the address that it would open in a browser. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT_URI;
  opened: URL | undefined;
  stored: StoredOAuthTokens | undefined;
  private information: OAuthClientInformationMixed | undefined;
  private verifier = '';
  private discovery: OAuthDiscoveryState | undefined;

  constructor(readonly clientMetadataUrl?: string) {}

  get clientMetadata(): OAuthClientMetadata {
    return { client_name: 'Test editor', redirect_uris: [REDIRECT_URI] };
  }

  state(): string {
    return 'the-state';
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.information;
  }

  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.information = information;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.stored;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    protectTokens(tokens);
    this.stored = tokens;
  }

  redirectToAuthorization(address: URL): void {
    this.opened = address;
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.discovery;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.information = undefined;
    if (scope === 'all' || scope === 'tokens') this.stored = undefined;
  }
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly token_type: string;
  readonly scope: string;
}

export interface OAuthAnswer {
  readonly status: number;
  readonly body: Partial<Tokens> & { readonly error?: string; readonly error_description?: string };
  readonly headers: Record<string, unknown>;
}

function protectTokens({ access_token: key, refresh_token: refresh }: Partial<Tokens>): void {
  if (key) canary.protect('access token', key);
  if (refresh) canary.protect('refresh token', refresh);
}

/** Sends a form, as clients of OAuth do. */
export async function sendForm(
  by: Session,
  path: string,
  fields: Readonly<Record<string, string | undefined>>,
): Promise<OAuthAnswer> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const form = new URLSearchParams(given as [string, string][]).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text, headers } = await by.raw('POST', path, form, type);
  const body = JSON.parse(text) as OAuthAnswer['body'];
  protectTokens(body);
  return { status, body, headers };
}

export async function registerClient(by: Session, fields: object = {}): Promise<string> {
  const metadata = { client_name: 'Test editor', redirect_uris: [REDIRECT_URI], ...fields };
  const { status, text } = await by.raw('POST', '/oauth/register', metadata);
  if (status !== 201) throw new Error(`The registration was refused: ${text}`);
  return (JSON.parse(text) as { client_id: string }).client_id;
}

/** The fields of an authorization request, with the verifier that proves it. */
export function newRequest(clientId: string, fields: Readonly<Record<string, string>> = {}) {
  const verifier = randomText();
  const request: Record<string, string> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    state: 'the-state',
    ...fields,
  };
  return { request, verifier };
}

export interface Consent {
  readonly name: string;
  readonly host: string;
  readonly isLocal: boolean;
  readonly permissions: readonly { permission: string }[];
  readonly problem: string | null;
}

/** What the page of the console asks the person of the session. */
export async function asked(
  by: Session,
  request: Readonly<Record<string, string>>,
): Promise<Consent> {
  const query = new URLSearchParams(request).toString();
  return done(await by.get<Consent>(`/oauth/consent?${query}`)).data;
}

/** What the page of the console sends when the person approves, with all permissions that it shows or the given ones. */
export async function approve(
  by: Session,
  request: Readonly<Record<string, string>>,
  permissions?: readonly string[],
): Promise<URL> {
  const chosen =
    permissions ?? (await asked(by, request)).permissions.map(({ permission }) => permission);
  const body = { ...request, approve: true, permissions: chosen };
  return new URL(done(await by.post<{ address: string }>('/oauth/consent', body)).data.address);
}

/** A connection of the session's person, made without the official client. */
export async function connect(
  by: Session,
  anonymous: Session,
  permissions?: readonly string[],
): Promise<Tokens & { readonly clientId: string }> {
  const clientId = await registerClient(anonymous);
  const { request, verifier } = newRequest(clientId);
  const address = await approve(by, request, permissions);
  const { status, body } = await sendForm(anonymous, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code: address.searchParams.get('code') ?? '',
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  });
  if (status !== 200) throw new Error(`The exchange was refused: ${JSON.stringify(body)}`);
  return { ...(body as Tokens), clientId };
}
