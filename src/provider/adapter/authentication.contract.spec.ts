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
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOfStream } from 'node:stream/consumers';
import { awsChunk, awsFrame } from '../../../test/support/aws-event-frames.js';
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
  readonly calls: {
    readonly headers: IncomingMessage['headers'];
    readonly target: string;
    readonly body: string;
  }[] = [];
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
    this.calls.push({ headers: request.headers, target, body });
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
    if (/\/(?:models|model)\//.test(target)) return answerOfClaude(target, body, response);
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

  issue(): object {
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

const CLAUDE_EVENTS = [
  { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
] as const;

/** As Vertex AI and Bedrock answer for Claude (anthropics/anthropic-sdk-typescript, packages/vertex-sdk and bedrock-sdk, 2026-08). */
function answerOfClaude(target: string, body: string, response: ServerResponse): ServerResponse {
  const { model, stream, anthropic_version: version } = JSON.parse(body) as Record<string, unknown>;
  const isBedrock = target.startsWith('/model/');
  const expected = isBedrock ? 'bedrock-2023-05-31' : 'vertex-2023-10-16';
  const isCount = target.includes('count-tokens');
  if ((model !== undefined && !isCount) || version !== expected || (isBedrock && stream)) {
    return response.writeHead(400).end(`Refused: ${body}`);
  }
  const json = { 'content-type': 'application/json' };
  if (isCount) return response.writeHead(200, json).end('{"input_tokens":7}');
  if (target.endsWith('/invoke-with-response-stream')) {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    const isBusy = body.includes('busy');
    if (!isBusy) return response.end(Buffer.concat(CLAUDE_EVENTS.map(awsChunk)));
    const headers = { ':exception-type': 'throttlingException', ':message-type': 'exception' };
    return response.end(awsFrame(headers, { message: 'Too many requests, please wait.' }));
  }
  if (target.endsWith(':streamRawPredict')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end(CLAUDE_EVENTS.map(sseOf).join(''));
  }
  const content = [{ type: 'text', text: 'Hello.' }];
  const usage = { input_tokens: 3, output_tokens: 2 };
  return response
    .writeHead(200, json)
    .end(JSON.stringify({ type: 'message', content, stop_reason: 'end_turn', usage }));
}

const sseOf = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

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

const HOST_SECRET = 'the-secret-of-the-host';

/**
 * The services of clouds at their hosts: managed identity at App Service and at virtual machines (Microsoft Learn), the metadata
 * server of Google (Google Cloud documentation) and the endpoint of ECS containers (AWS documentation), read 2026-11.
 */
function answerOfHost(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request;
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://host');
  const json = (value: object): void =>
    void response
      .writeHead(200, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
      .end(JSON.stringify(value));
  const isOfAzure = /^https:\/\/cognitiveservices\.azure\.com\/?$/.test(
    searchParams.get('resource') ?? '',
  );
  const expires_on = String(Math.floor(Date.now() / 1_000) + 3_600);
  if (pathname === '/msi/token' && isOfAzure && headers['x-identity-header'] === HOST_SECRET) {
    json({ ...cloud.issue(), expires_on, resource: 'r' });
  } else if (pathname === '/metadata/identity/oauth2/token' && isOfAzure && headers['metadata']) {
    json({ ...cloud.issue(), expires_on, resource: 'r' });
  } else if (pathname === '/aws/credentials' && headers.authorization === HOST_SECRET) {
    json({
      AccessKeyId: aws.accessKeyId,
      SecretAccessKey: aws.secretAccessKey,
      Token: aws.sessionToken,
      Expiration: new Date(Date.now() + 3_600_000).toISOString(),
    });
  } else if (headers['metadata-flavor'] === 'Google' && pathname.endsWith('/default/token')) {
    json(cloud.issue());
  } else if (headers['metadata-flavor'] === 'Google' && pathname.endsWith('/instance')) {
    json({});
  } else response.writeHead(404, { 'metadata-flavor': 'Google' }).end();
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

describe.each([
  {
    code: 'vertex',
    address: `https://${VERTEX}/v1/projects/p/locations/us-central1/publishers/anthropic`,
    identity: { authType: 'google', credential: JSON.stringify(google) },
    model: 'claude-sonnet-4-5@20250929',
    path: '/v1/projects/p/locations/us-central1/publishers/anthropic/models',
    places: [':rawPredict', ':streamRawPredict'],
  },
  {
    code: 'bedrock',
    address: `https://${BEDROCK}/model`,
    identity: { authType: 'aws', credential: JSON.stringify(aws) },
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    path: '/model',
    places: ['/invoke', '/invoke-with-response-stream'],
  },
] as const)('Claude at $code', ({ code, address, identity, model, path, places }) => {
  const connection: ModelConnection = { address, ...identity };
  const adapter = () => {
    const found = chatAdapters(http).find((one) => one.code === code);
    if (found === undefined) throw new Error(`There is no adapter ${code}.`);
    return found;
  };
  const call = (content = 'Hello') => ({ model, messages: [{ role: 'user', content } as const] });
  const name = encodeURIComponent(model).replace('%40', '@');

  it('answers in one piece and as a stream, each at its own place', async () => {
    expect(await adapter().complete(call(), connection, options())).toMatchObject({
      text: 'Hello.',
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    const parts = [];
    for await (const some of adapter().stream(call(), connection, options())) parts.push(...some);
    expect(parts).toMatchObject([
      { type: 'text-delta', text: 'Hello.' },
      { type: 'usage', usage: { outputTokens: 2 } },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(cloud.calls.map(({ target }) => target)).toEqual(
      places.map((place) => `${path}/${name}${place}`),
    );
    expect(cloud.calls[0]?.headers).not.toHaveProperty('x-api-key');
  });

  it('is relayed as events of the protocol, betas included', async () => {
    const body = { ...call(), max_tokens: 9, stream: true };
    const headers = { 'anthropic-beta': 'a-1,b-2' };
    expect(adapter().canRelay(address, 'messages')).toBe(true);
    let bytes = '';
    const relayed = adapter().relayStream(body, connection, { ...options(), headers });
    for await (const read of relayed) bytes += String(read.bytes);
    expect(bytes).toBe(CLAUDE_EVENTS.map(sseOf).join(''));
    const sent = cloud.calls[0];
    const inBody = JSON.parse(sent?.body ?? '{}') as {
      readonly anthropic_beta?: readonly string[];
    };
    const inHeader = sent?.headers['anthropic-beta']?.toString().split(',');
    expect([inBody.anthropic_beta, inHeader]).toEqual(
      code === 'bedrock' ? [['a-1', 'b-2'], undefined] : [undefined, ['a-1', 'b-2']],
    );
  });

  it('counts tokens where the cloud does', async () => {
    const counted = await adapter().relayCount(call(), connection, options());
    expect(counted).toEqual(code === 'vertex' ? { input_tokens: 7 } : undefined);
  });
});

it('an exception in a stream of Bedrock is the error that it says', async () => {
  const adapter = chatAdapters(http).find(({ code }) => code === 'custom_messages');
  const call = { model: 'm', messages: [{ role: 'user', content: 'busy' } as const] };
  const connection = connectionTo(BEDROCK, 'aws', aws);
  const reading = adapter?.stream(
    call,
    { ...connection, address: `https://${BEDROCK}` },
    options(),
  );
  await expect(reading?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    kind: 'rate-limit',
    vendorText: 'Too many requests, please wait.',
  });
});

describe('the identity of the host', () => {
  const before = new Map<string, string | undefined>();
  const hostServer = createHttpServer((request, response) => answerOfHost(request, response));
  let host = '';

  beforeAll(async () => {
    hostServer.listen(0, '127.0.0.1');
    await once(hostServer, 'listening');
    host = `127.0.0.1:${(hostServer.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    // What the machine itself has is not looked at.
    const nowhere = '/nonexistent/plinth';
    setEnvironment({
      AWS_SHARED_CREDENTIALS_FILE: nowhere,
      AWS_CONFIG_FILE: nowhere,
      CLOUDSDK_CONFIG: nowhere,
      AWS_ACCESS_KEY_ID: undefined,
      AWS_PROFILE: undefined,
      AZURE_CLIENT_ID: undefined,
      GOOGLE_APPLICATION_CREDENTIALS: undefined,
    });
  });

  afterEach(() => {
    setEnvironment(Object.fromEntries(before));
    before.clear();
  });

  afterAll(() => {
    hostServer.closeAllConnections();
    hostServer.close();
  });

  function setEnvironment(values: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (!before.has(name)) before.set(name, process.env[name]);
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }

  it('is that of the environment of AWS', async () => {
    setEnvironment({
      AWS_ACCESS_KEY_ID: aws.accessKeyId,
      AWS_SECRET_ACCESS_KEY: aws.secretAccessKey,
      AWS_SESSION_TOKEN: aws.sessionToken,
    });
    expect((await complete(connectionTo(BEDROCK, 'aws', undefined, true))).text).toBe('hi');
  });

  it('is that of a container of AWS', async () => {
    setEnvironment({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}/aws/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: HOST_SECRET,
    });
    await complete(connectionTo(BEDROCK, 'aws', undefined, true));
    expect(cloud.calls[0]?.headers['x-amz-security-token']).toBe(aws.sessionToken);
  });

  it.each([
    ['App Service', { IDENTITY_ENDPOINT: '/msi/token', IDENTITY_HEADER: HOST_SECRET }],
    ['a virtual machine', { AZURE_POD_IDENTITY_AUTHORITY_HOST: '' }],
  ])('is the managed one of Azure: %s', async (_, settings) => {
    const [[name = '', path = ''] = [], ...others] = Object.entries(settings);
    setEnvironment({ [name]: `http://${host}${path}`, ...Object.fromEntries(others) });
    await complete(connectionTo(AZURE, 'entra', undefined, true));
    expect(cloud.calls[0]?.headers.authorization).toBe('Bearer cloud-token-1');
  });

  it('is that of the file that Google names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-adc-'));
    try {
      const file = join(folder, 'key.json');
      await writeFile(file, JSON.stringify({ ...google, project_id: 'p' }));
      setEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: file });
      await complete(connectionTo(VERTEX, 'google', undefined, true));
    } finally {
      await rm(folder, { recursive: true });
    }
    expect(cloud.calls[0]?.headers.authorization).toBe('Bearer cloud-token-1');
    expect(proxy.asked).toContain(`${GOOGLE_LOGIN}:443`);
  });

  it('is that of the metadata server of Google', async () => {
    setEnvironment({ GCE_METADATA_HOST: host });
    await complete(connectionTo(VERTEX, 'google', undefined, true));
    expect(cloud.calls[0]?.headers.authorization).toBe('Bearer cloud-token-1');
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
