import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  test,
} from '@jest/globals';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as textOfStream } from 'node:stream/consumers';
import { certificateFor } from '../../../test/support/media/certificate.js';
import { ProxyServer } from '../../../test/support/proxy-server.js';
import { sigV4Problem } from '../../../test/support/sigv4-verifier.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { chatAdapters, embeddingAdapters } from '../adapter.registries.js';
import { checkedCredential, defaultAuthType } from './authentication.js';
import type { AuthType } from './authentication.js';
import type { ChatCompletion } from './chat/chat.adapter.js';
import type { ModelConnection } from './model-call.js';

const AZURE = 'resource.openai.azure.com';
const BEDROCK = 'bedrock-runtime.us-east-1.amazonaws.com';
const VERTEX = 'us-central1-aiplatform.googleapis.com';
const ENTRA_LOGIN = 'login.microsoftonline.com';
const GOOGLE_LOGIN = 'oauth2.googleapis.com';
const NATIONAL_LOGIN = 'login.national.test';
const certificate = certificateFor([
  AZURE,
  BEDROCK,
  VERTEX,
  ENTRA_LOGIN,
  GOOGLE_LOGIN,
  NATIONAL_LOGIN,
]);

const entra = { tenantId: 'tenant-1', clientId: 'client-1', clientSecret: 'the-client-secret~1' };
const aws = {
  accessKeyId: 'AKIATEST',
  secretAccessKey: 'secret/access+key',
  sessionToken: 'session-token==',
};
const keys = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const google = {
  type: 'service_account',
  client_email: 'plinth@project.iam.gserviceaccount.com',
  private_key: keys.privateKey,
};

/** A cloud: token endpoints that verify what they are given, and services that take nothing but their tokens. */
class Cloud {
  readonly calls: { readonly headers: IncomingMessage['headers']; readonly target: string }[] = [];
  issued: string[] = [];
  expiresIn = 3_600;
  /** Holds token requests back until it is resolved. */
  gate: Promise<unknown> = Promise.resolve();

  async answer(request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
    const body = await textOfStream(request);
    const { host = '', authorization } = request.headers;
    const target = request.url ?? '';
    const json = (status: number, value: object): ServerResponse =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (host === ENTRA_LOGIN || host === NATIONAL_LOGIN) {
      if (target.includes('openid-configuration')) return json(200, this.discovery(host));
      await this.gate;
      const problem = this.entraProblem(target, new URLSearchParams(body));
      if (problem === undefined) return json(200, this.issue());
      return json(401, {
        error: 'invalid_client',
        error_description: `AADSTS7000215: ${problem}`,
        error_codes: [7_000_215],
        trace_id: 't',
        correlation_id: 'c',
      });
    }
    if (host === GOOGLE_LOGIN) {
      await this.gate;
      const isGood = isSignedByGoogleKey(new URLSearchParams(body).get('assertion') ?? '');
      return isGood
        ? json(200, this.issue())
        : json(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' });
    }
    this.calls.push({ headers: request.headers, target });
    const problem =
      host === BEDROCK
        ? sigV4Problem(
            { method: request.method ?? '', target, headers: request.headers, body },
            aws,
            {
              region: 'us-east-1',
              service: 'bedrock',
            },
          )
        : this.issued.some((token) => authorization === `Bearer ${token}`) ||
            request.headers['api-key'] === 'azure-key-1'
          ? undefined
          : 'unknown token';
    if (problem !== undefined) {
      return json(401, { error: { message: `Refused: ${problem} (${authorization ?? ''})` } });
    }
    const isEmbedding = target.endsWith('/embeddings');
    return json(
      200,
      isEmbedding
        ? { data: [{ index: 0, embedding: [1, 2] }] }
        : {
            choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          },
    );
  }

  private issue(): object {
    const token = `cloud-token-${this.issued.length + 1}`;
    this.issued.push(token);
    return { token_type: 'Bearer', access_token: token, expires_in: this.expiresIn };
  }

  private discovery(host: string): object {
    const base = `https://${host}/tenant-1`;
    return {
      issuer: `${base}/v2.0`,
      authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
      token_endpoint: `${base}/oauth2/v2.0/token`,
      jwks_uri: `${base}/discovery/v2.0/keys`,
    };
  }

  private entraProblem(target: string, form: URLSearchParams): string | undefined {
    if (!target.startsWith('/tenant-1/oauth2/v2.0/token')) return `path ${target}`;
    if (form.get('grant_type') !== 'client_credentials') return 'grant type';
    if (form.get('client_id') !== entra.clientId) return 'client';
    if (form.get('client_secret') !== entra.clientSecret) {
      return `Invalid client secret ${form.get('client_secret') ?? ''}`;
    }
    const isScoped = form.get('scope')?.includes('https://cognitiveservices.azure.com/.default');
    return isScoped ? undefined : 'scope';
  }
}

function isSignedByGoogleKey(assertion: string): boolean {
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  const { iss, aud, scope, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    readonly iss: string;
    readonly aud: string;
    readonly scope: string;
    readonly exp: number;
  };
  return (
    iss === google.client_email &&
    aud === `https://${GOOGLE_LOGIN}/token` &&
    scope === 'https://www.googleapis.com/auth/cloud-platform' &&
    exp * 1_000 > Date.now() &&
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      createPublicKey(keys.publicKey),
      Buffer.from(signature, 'base64url'),
    )
  );
}

let cloud = new Cloud();
const server = createServer(
  certificate,
  (request, response) => void cloud.answer(request, response),
);
const proxy = new ProxyServer();
let http: OutboundHttp;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), proxy.start()]);
  proxy.targetPort = (server.address() as AddressInfo).port;
});

beforeEach(() => {
  cloud = new Cloud();
  proxy.reset();
  http = new OutboundHttp({
    allowedPrivateHosts: [],
    ca: certificate.cert,
    proxies: { httpsProxy: proxy.url },
  });
});

afterEach(async () => {
  await http.close();
});

afterAll(async () => {
  await proxy.close();
  server.closeAllConnections();
  server.close();
});

const options = (signal = new AbortController().signal) => ({
  limits: { connectMs: 20_000, idleMs: 20_000, totalMs: 60_000 },
  signal,
});

function connectionTo(
  host: string,
  authType: AuthType,
  credential?: object | string,
  mayUseHost = false,
): ModelConnection {
  const text = typeof credential === 'string' ? credential : JSON.stringify(credential);
  return {
    address: `https://${host}/openai/v1`,
    authType,
    mayUseHost,
    ...(credential !== undefined && { credential: text }),
  };
}

function complete(connection: ModelConnection): Promise<ChatCompletion> {
  const adapter = chatAdapters(http).find(({ code }) => code === 'custom_api');
  if (adapter === undefined) throw new Error('There is no adapter custom_api.');
  const call = { model: 'm', messages: [{ role: 'user', content: 'Hello' } as const] };
  return adapter.complete(call, connection, options());
}

describe('the key of Azure', () => {
  it('is sent as api-key alone', async () => {
    await complete(connectionTo(AZURE, 'api-key', 'azure-key-1'));
    expect(cloud.calls[0]?.headers).not.toHaveProperty('authorization');
  });
});

describe.each([
  ['entra', AZURE, entra, ENTRA_LOGIN],
  ['google', VERTEX, google, GOOGLE_LOGIN],
] as const)('a token of %s', (authType, host, credential, login) => {
  it('is fetched through the proxy, once for calls at the same time and later', async () => {
    const gate = Promise.withResolvers<undefined>();
    cloud.gate = gate.promise;
    const connection = connectionTo(host, authType, credential);
    const calls = [complete(connection), complete({ ...connection }), complete(connection)];
    gate.resolve(undefined);
    expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(['hi', 'hi', 'hi']);
    await complete(connection);
    expect(cloud.issued).toHaveLength(1);
    expect(proxy.asked).toContain(`${login}:443`);
  });

  it('is renewed before it expires', async () => {
    cloud.expiresIn = 1;
    const connection = connectionTo(host, authType, credential);
    await complete(connection);
    while (cloud.issued.length < 2) await complete(connection);
    expect(cloud.calls.at(-1)?.headers.authorization).toBe('Bearer cloud-token-2');
  });

  it('is used by embeddings as well', async () => {
    const adapter = embeddingAdapters(http).find(({ code }) => code === 'custom_api');
    const connection = connectionTo(host, authType, credential);
    await adapter?.embed({ model: 'm', inputs: ['x'] }, connection, options());
    expect(cloud.calls[0]).toMatchObject({
      target: '/openai/v1/embeddings',
      headers: { authorization: 'Bearer cloud-token-1' },
    });
  });

  it('is left out of the errors of the service', async () => {
    const connection = connectionTo(host, authType, credential);
    await complete(connection);
    cloud.issued = ['another'];
    const failure = await complete(connection).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ kind: 'authentication' });
    expect((failure as Error).message).not.toContain('cloud-token-1');
  });

  it('is not issued for a wrong secret, which the error does not repeat; the next call tries again', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const wrong =
      authType === 'entra'
        ? { ...entra, clientSecret: 'a-wrong-secret' }
        : {
            ...google,
            private_key: other.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
          };
    const connection = connectionTo(host, authType, wrong);
    for (let round = 0; round < 2; round++) {
      const failure = await complete(connection).catch((error: unknown) => error as Error);
      expect(failure).toMatchObject({ kind: 'authentication' });
      expect((failure as Error).message).not.toContain('a-wrong-secret');
    }
    expect(cloud.calls).toEqual([]);
  });

  it('fails as the proxy does, which is no fault of the credential', async () => {
    proxy.behaviour.login = 'user:password';
    await expect(complete(connectionTo(host, authType, credential))).rejects.toMatchObject({
      kind: 'connection',
      message: 'The proxy asks for credentials (407). Check HTTPS_PROXY.',
    });
  });
});

describe('a signature of AWS', () => {
  it('is made of the request and accepted', async () => {
    await complete(connectionTo(BEDROCK, 'aws', aws));
    expect(cloud.calls[0]).toMatchObject({
      target: '/openai/v1/chat/completions',
      headers: { 'x-amz-security-token': aws.sessionToken },
    });
  });

  it('is refused for another secret', async () => {
    const connection = connectionTo(BEDROCK, 'aws', { ...aws, secretAccessKey: 'other' });
    await expect(complete(connection)).rejects.toMatchObject({ kind: 'authentication' });
  });

  it('asks for the region where the host names none', async () => {
    await expect(complete(connectionTo(AZURE, 'aws', aws))).rejects.toThrow(/region/);
  });
});

describe('the identity of the host', () => {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;
  const before = names.map((name) => process.env[name]);

  beforeEach(() => {
    process.env['AWS_ACCESS_KEY_ID'] = aws.accessKeyId;
    process.env['AWS_SECRET_ACCESS_KEY'] = aws.secretAccessKey;
    process.env['AWS_SESSION_TOKEN'] = aws.sessionToken;
  });

  afterEach(() => {
    for (const [at, name] of names.entries()) {
      const value = before[at];
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  });

  it('is used where the operator allows it', async () => {
    expect((await complete(connectionTo(BEDROCK, 'aws', undefined, true))).text).toBe('hi');
  });

  it.each(['aws', 'entra', 'google'] as const)('is refused for %s elsewhere', async (authType) => {
    await expect(complete(connectionTo(BEDROCK, authType))).rejects.toThrow(
      /HOST_IDENTITY_TENANTS/,
    );
  });

  it.each(['aws', 'entra', 'google'] as const)(
    'of %s never goes to a service outside of the cloud',
    async (authType) => {
      const connection = connectionTo('collector.test', authType, undefined, true);
      await expect(complete(connection)).rejects.toThrow(/services of its cloud alone/);
      expect(proxy.asked).toEqual([]);
    },
  );
});

test('a national cloud has its own sign-in host', async () => {
  const credential = { ...entra, authorityHost: `https://${NATIONAL_LOGIN}` };
  await complete(connectionTo(AZURE, 'entra', credential));
  expect(proxy.asked).toContain(`${NATIONAL_LOGIN}:443`);
});

test.each([
  ['entra', 'not JSON', 'tenantId, clientId, clientSecret'],
  ['entra', '{"tenantId":"t","clientId":"c"}', 'tenantId, clientId, clientSecret'],
  ['aws', '{"accessKeyId":"a","secretAccessKey":" "}', 'accessKeyId, secretAccessKey'],
  ['google', '[]', 'client_email and private_key'],
] as const)('the credential of %s %s is refused', (authType, credential, fields) => {
  expect(() => checkedCredential(authType, credential)).toThrow(fields);
});

test('a credential is stored on one line', () => {
  const pretty = JSON.stringify(google, undefined, 2);
  expect(checkedCredential('google', pretty)).toBe(JSON.stringify(google));
  expect(checkedCredential('bearer', ' {\n')).toBe(' {\n');
  expect(defaultAuthType('azure')).toBe('api-key');
});
