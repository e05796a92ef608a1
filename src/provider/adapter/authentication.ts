import { createHash } from 'node:crypto';
import type { OutboundHttp } from '../../platform/outbound/index.js';
import { DomainError, InvalidInputError } from '../../platform/error/index.js';
import { literal, msg } from '../../platform/message/index.js';
import { LRUCache } from 'lru-cache';
import { CloudClient } from './cloud-client.js';
import { isRecord, textIn } from './vendor-json.js';
import type { Secrets } from './safe-text.js';
import { safeText } from './safe-text.js';
import { abortedError, UpstreamError, upstreamErrorOf } from './upstream.error.js';

/**
 * The way a call identifies itself to the model service: by its key, as the protocol sends keys (`bearer`) or in the header
 * `api-key`; by a token of Microsoft Entra or of Google; or by a signature of AWS (SigV4).
 */
export const AUTH_TYPES = ['bearer', 'api-key', 'entra', 'google', 'aws'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];
type CloudAuthType = Exclude<AuthType, 'bearer' | 'api-key'>;

/** The identity of a call. Only cloud types read `mayUseHost`. */
export interface CallIdentity {
  /** The type of authentication; `bearer` by default. */
  readonly authType?: AuthType | undefined;
  /** Whether a call without a credential may use the identity that the cloud gave to this host. */
  readonly mayUseHost?: boolean | undefined;
}

/** The default authentication of cloud provider codes. */
const DEFAULT_AUTH: Readonly<Record<string, AuthType>> = {
  azure: 'api-key',
  vertex: 'google',
};

export function defaultAuthType(providerCode: string): AuthType {
  return DEFAULT_AUTH[providerCode] ?? 'bearer';
}

export function isCloudAuth(authType: AuthType): authType is CloudAuthType {
  return authType === 'entra' || authType === 'google' || authType === 'aws';
}

interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Further fields: `authorityHost` and `scope` of entra, `sessionToken` and `region` of aws. */
const NEEDED = {
  entra: ['tenantId', 'clientId', 'clientSecret'],
  aws: ['accessKeyId', 'secretAccessKey'],
  google: ['client_email', 'private_key'],
} as const satisfies Record<CloudAuthType, readonly string[]>;

/**
 * The credential as it is stored: JSON on one line for the types of clouds. Throws InvalidInputError for JSON that lacks a
 * field. A blank one, which stands for the identity of the host, passes.
 */
export function checkedCredential(authType: AuthType, credential: string): string {
  if (!isCloudAuth(authType) || credential.trim() === '') return credential;
  return JSON.stringify(fieldsOf(authType, credential));
}

function fieldsOf(authType: CloudAuthType, credential: string): Record<string, unknown> {
  const fields = parsed(credential);
  const isComplete = NEEDED[authType].every(
    (name) => typeof fields?.[name] === 'string' && fields[name].trim() !== '',
  );
  if (fields !== undefined && isComplete) return fields;
  throw new InvalidInputError(
    authType === 'google'
      ? msg`The credential for google must be the JSON key of a service account, with client_email and private_key.`
      : msg`The credential for ${authType} must be JSON with ${NEEDED[authType].join(', ')}.`,
  );
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A model without a credential whose tenant may not use the identity of the host. */
export class HostIdentityError extends DomainError {
  readonly code = 400;

  constructor() {
    super(
      msg`The identity of this host is not available to your tenant. Enter a credential, or ask an operator to add the tenant to HOST_IDENTITY_TENANTS.`,
    );
  }
}

/** The hosts that may receive the identity of this host; others could collect its tokens. */
const HOSTS_OF_CLOUD: Readonly<Record<CloudAuthType, RegExp>> = {
  entra: /\.(azure\.(com|us|cn)|azure-api\.net)$/,
  google: /(^|\.)googleapis\.com$/,
  aws: /\.(amazonaws\.com(\.cn)?|api\.aws)$/,
};

function checkHostIdentity(authType: CloudAuthType, { mayUseHost }: CallIdentity, url: URL): void {
  if (mayUseHost !== true) throw new HostIdentityError();
  if (url.protocol === 'https:' && HOSTS_OF_CLOUD[authType].test(url.hostname)) return;
  throw new InvalidInputError(
    msg`The identity of this host is sent to services of its cloud alone. Enter such an https address, or a credential.`,
  );
}

interface UnauthenticatedCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  readonly secrets: Secrets & CallIdentity;
}

interface AuthenticatedCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: Secrets;
}

/**
 * The headers with which the service accepts the call, in the place of the key that the protocol has put there. Rejects with
 * UpstreamError `authentication` when the cloud refuses the credential, HostIdentityError, or InvalidInputError for a
 * credential of another type.
 */
export async function authenticated(
  http: OutboundHttp,
  call: UnauthenticatedCall,
  signal: AbortSignal,
): Promise<AuthenticatedCall> {
  const { secrets } = call;
  const { authType = 'bearer' } = secrets;
  if (authType === 'bearer') return call;
  const headers = withoutKeys(call.headers);
  if (authType === 'api-key') {
    const key = secrets.credential?.trim() ?? '';
    return { headers: key === '' ? headers : { ...headers, 'api-key': key }, secrets };
  }
  const url = new URL(call.url);
  const credential = secrets.credential?.trim() ?? '';
  if (credential === '') checkHostIdentity(authType, secrets, url);
  const identities = CloudIdentities.of(http);
  if (authType === 'aws') {
    const keys = await identities.awsKeys(credential, signal);
    return {
      headers: await signed({ ...call, headers }, keys, regionOf(url, credential)),
      secrets: { ...secrets, ...(keys.sessionToken && { token: keys.sessionToken }) },
    };
  }
  const token = await identities.token(authType, credential, signal);
  return {
    headers: { ...headers, authorization: `Bearer ${token}` },
    secrets: { ...secrets, token },
  };
}

function withoutKeys(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { authorization: _, 'x-api-key': __, ...others } = headers;
  return others;
}

/** Hosts such as bedrock-runtime.us-east-1.amazonaws.com and bedrock-mantle.us-east-1.api.aws name their region. */
function regionOf({ hostname }: URL, credential: string): string {
  const { region } = credential === '' ? {} : (parsed(credential) ?? {});
  if (typeof region === 'string' && region !== '') return region;
  const [, named] =
    /\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(
      hostname,
    ) ?? [];
  if (named !== undefined) return named;
  throw new InvalidInputError(
    msg`The address names no region of AWS. Add region to the JSON of the credential, for example us-east-1.`,
  );
}

async function signed(
  { url, method, headers, body }: UnauthenticatedCall,
  { accessKeyId, secretAccessKey, sessionToken }: AwsKeys,
  region: string,
): Promise<Record<string, string>> {
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    url,
    method,
    headers: { ...headers },
    ...(body !== undefined && { body: String(body) }),
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: new URL(url).hostname.startsWith('bedrock-mantle.') ? 'bedrock-mantle' : 'bedrock',
    region,
  });
  const request = await signer.sign();
  const { host: _, ...signedHeaders } = Object.fromEntries(request.headers);
  return signedHeaders;
}

interface Expiring<T> {
  readonly value: T;
  /** Expiry in milliseconds since 1970; undefined for a credential that does not expire. */
  readonly expiresAt?: number | undefined;
}

interface Fetched<T> {
  readonly work: Promise<Expiring<T>>;
  /** The time of the next renewal; undefined while it is being fetched. */
  renewAt?: number;
}

/** Tokens are renewed this long before they expire, and at the latest when half of their time is over. */
const RENEWAL_MS = 120_000;
const MAX_IDENTITIES = 1_000;

/** Tokens and temporary keys of clouds, each fetched by one call at a time and used until shortly before it expires. */
class CloudIdentities {
  private static readonly instances = new WeakMap<OutboundHttp, CloudIdentities>();
  /** Keyed by hash, so that no credential is held as a key. */
  private readonly tokens = new LRUCache<string, Fetched<string>>({ max: MAX_IDENTITIES });
  private readonly keys = new LRUCache<string, Fetched<AwsKeys>>({ max: MAX_IDENTITIES });

  private constructor(private readonly http: OutboundHttp) {}

  static of(http: OutboundHttp): CloudIdentities {
    const existing = CloudIdentities.instances.get(http);
    if (existing !== undefined) return existing;
    const identities = new CloudIdentities(http);
    CloudIdentities.instances.set(http, identities);
    return identities;
  }

  token(authType: 'entra' | 'google', credential: string, signal: AbortSignal): Promise<string> {
    return this.fetched(this.tokens, { authType, credential }, signal, (client) =>
      authType === 'entra' ? entraToken(client, credential) : googleToken(client, credential),
    );
  }

  async awsKeys(credential: string, signal: AbortSignal): Promise<AwsKeys> {
    if (credential !== '') {
      const fields = fieldsOf('aws', credential);
      const sessionToken = textIn(fields, 'sessionToken');
      return {
        accessKeyId: textIn(fields, 'accessKeyId') ?? '',
        secretAccessKey: textIn(fields, 'secretAccessKey') ?? '',
        ...(sessionToken !== undefined && { sessionToken }),
      };
    }
    return this.fetched(this.keys, { authType: 'aws', credential }, signal, async (client) => {
      const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
      const keys = await defaultProvider({
        clientConfig: { requestHandler: client.awsHandler },
      })();
      return { value: keys, expiresAt: keys.expiration?.getTime() };
    });
  }

  /** The fetch is shared, so the signal ends only the waiting. */
  private async fetched<T>(
    cache: LRUCache<string, Fetched<T>>,
    { authType, credential }: { readonly authType: CloudAuthType; readonly credential: string },
    signal: AbortSignal,
    fetch: (client: CloudClient) => Promise<Expiring<T>>,
  ): Promise<T> {
    const key = createHash('sha256').update(`${authType} ${credential}`).digest('base64');
    let entry = cache.get(key);
    if (entry === undefined || (entry.renewAt !== undefined && entry.renewAt <= Date.now())) {
      const fetched: Fetched<T> = { work: this.begin(fetch, credential === '') };
      entry = fetched;
      cache.set(key, fetched);
      fetched.work.then(
        ({ expiresAt = Infinity }) => {
          const remainingMs = expiresAt - Date.now();
          fetched.renewAt = expiresAt - Math.min(RENEWAL_MS, remainingMs / 2);
        },
        () => {
          if (cache.peek(key) === fetched) cache.delete(key);
        },
      );
    }
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(abortedError());
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return (await Promise.race([entry.work, aborted.promise])).value;
    } catch (error) {
      throw refusalOf(error, credential);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  private async begin<T>(
    fetch: (client: CloudClient) => Promise<Expiring<T>>,
    isOfHost: boolean,
  ): Promise<Expiring<T>> {
    const client = new CloudClient(this.http, isOfHost);
    try {
      return await fetch(client);
    } catch (error) {
      throw client.failure ?? error;
    }
  }
}

async function entraToken(client: CloudClient, credential: string): Promise<Expiring<string>> {
  const { ClientSecretCredential, DefaultAzureCredential } = await import('@azure/identity');
  const options = { httpClient: client.azureClient, retryOptions: { maxRetries: 1 } };
  const publicScope = 'https://cognitiveservices.azure.com/.default';
  if (credential === '') {
    const issued = await new DefaultAzureCredential(options).getToken(publicScope);
    return { value: issued.token, expiresAt: issued.expiresOnTimestamp };
  }
  const fields = fieldsOf('entra', credential);
  const [tenantId = '', clientId = '', clientSecret = ''] = NEEDED.entra.map((name) =>
    textIn(fields, name),
  );
  const authorityHost = textIn(fields, 'authorityHost');
  const source = new ClientSecretCredential(tenantId, clientId, clientSecret, {
    ...options,
    // A private or national authority is not listed by the public one.
    ...(authorityHost !== undefined && { authorityHost, disableInstanceDiscovery: true }),
  });
  const issued = await source.getToken(textIn(fields, 'scope') ?? publicScope);
  return { value: issued.token, expiresAt: issued.expiresOnTimestamp };
}

async function googleToken(client: CloudClient, credential: string): Promise<Expiring<string>> {
  const { GoogleAuth, JWT } = await import('google-auth-library');
  const scopes = ['https://www.googleapis.com/auth/cloud-platform'];
  const transporterOptions = { fetchImplementation: client.fetch };
  if (credential === '') {
    // A token needs no project, to learn of which the library runs gcloud.
    const auth = new GoogleAuth({
      scopes,
      projectId: 'none',
      clientOptions: { transporterOptions },
    });
    const source = await auth.getClient();
    const { token } = await source.getAccessToken();
    if (!token) throw new Error('The host has no token of Google.');
    return { value: token, expiresAt: source.credentials.expiry_date ?? undefined };
  }
  const fields = fieldsOf('google', credential);
  const source = new JWT({
    email: textIn(fields, 'client_email') ?? '',
    key: textIn(fields, 'private_key') ?? '',
    scopes,
    transporterOptions,
  });
  const { access_token: token, expiry_date: expiresAt } = await source.authorize();
  if (!token) throw new Error('Google sent no token.');
  return { value: token, expiresAt: expiresAt ?? undefined };
}

/** The reason why there is no token, without the secrets of the request. */
function refusalOf(error: unknown, credential: string): Error {
  const failure = upstreamErrorOf(error);
  if (failure instanceof DomainError) return failure;
  const text = safeText(failure.message, { address: '', credential });
  return new UpstreamError({
    kind: 'authentication',
    message: msg`The cloud issued no token for the credential of this model. Check the credential. It said: ${literal(text)}`,
  });
}
