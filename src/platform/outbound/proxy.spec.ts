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
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { certificateFor } from '../../../test/support/media/certificate.js';
import { ProxyServer } from '../../../test/support/proxy-server.js';
import { HostList } from './host-list.js';
import { OutboundHttp } from './outbound-http.js';
import type { OutboundHttpOptions, OutboundResponse } from './outbound-http.js';

const real = certificateFor(['api.vendor.test']);
const inspecting = certificateFor(['api.vendor.test']);
const seen: IncomingMessage[] = [];
const answer = (request: IncomingMessage, response: ServerResponse): void => {
  seen.push(request);
  request.resume();
  const status = Number(/\/status\/(\d+)/.exec(request.url ?? '')?.[1] ?? 200);
  response.writeHead(status).end(`answered ${request.url ?? ''}`);
};
const plain = createServer(answer);
const secure = createTlsServer(real, answer);
const proxy = new ProxyServer();
let http: OutboundHttp | undefined;

function client(options: Partial<OutboundHttpOptions> = {}): OutboundHttp {
  http = new OutboundHttp({
    allowedPrivateHosts: [],
    ca: real.cert,
    proxies: { httpsProxy: proxy.url, httpProxy: proxy.url },
    resolve: () => Promise.reject(new Error('Names are resolved by the proxy.')),
    ...options,
  });
  return http;
}

function get(to: OutboundHttp, address: string, connectMs = 20_000): Promise<OutboundResponse> {
  return to.request(address, {
    method: 'POST',
    headers: { authorization: 'Bearer key' },
    body: '{}',
    signal: new AbortController().signal,
    timeouts: { connectMs, idleMs: 20_000 },
  });
}

beforeAll(async () => {
  // A busy machine may take longer between two calls than the five seconds that Node keeps an idle connection.
  secure.keepAliveTimeout = 120_000;
  plain.listen(0, '127.0.0.1');
  secure.listen(0, '127.0.0.1');
  await Promise.all([once(plain, 'listening'), once(secure, 'listening'), proxy.start()]);
});

beforeEach(() => {
  proxy.reset();
  proxy.targetPort = (secure.address() as AddressInfo).port;
  seen.length = 0;
});

afterEach(async () => {
  await http?.close();
});

afterAll(async () => {
  await proxy.close();
  for (const server of [plain, secure]) {
    server.closeAllConnections();
    server.close();
  }
});

describe('https through a proxy', () => {
  it('goes through a tunnel, which later calls use again', async () => {
    const to = client();
    for (const path of ['/one', '/two']) {
      const response = await get(to, `https://api.vendor.test/v1${path}`);
      expect(await response.text(100)).toBe(`answered /v1${path}`);
      // undici frees the connection once the code after the answer has run.
      await setImmediate();
    }
    expect(proxy.asked).toEqual(['api.vendor.test:443']);
    expect(seen[0]?.headers).toMatchObject({
      host: 'api.vendor.test',
      authorization: 'Bearer key',
    });
  });

  it('identifies itself with the percent-encoded login, to the proxy alone', async () => {
    proxy.behaviour.login = 'us er:p@ss/ü';
    const to = client({
      proxies: { httpsProxy: proxy.url.replace('//', '//us%20er:p%40ss%2F%C3%BC@') },
    });
    expect((await get(to, 'https://api.vendor.test/')).status).toBe(200);
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('says that the proxy asks for credentials', async () => {
    proxy.behaviour.login = 'user:password';
    await expect(get(client(), 'https://api.vendor.test/')).rejects.toMatchObject({
      kind: 'proxy',
      retryable: false,
      message: 'The proxy asks for credentials (407). Check HTTPS_PROXY.',
    });
  });

  it.each([
    [403, false],
    [503, true],
  ])('says that the proxy refuses with %d', async (connectStatus, retryable) => {
    proxy.behaviour.connectStatus = connectStatus;
    const failure = expect(get(client(), 'https://api.vendor.test/')).rejects;
    await failure.toMatchObject({ kind: 'proxy', retryable });
  });

  it('says that the proxy cannot be reached', async () => {
    // Nobody listens on port 1; a port that was just closed may be taken by another test.
    const to = client({ proxies: { httpsProxy: 'http://127.0.0.1:1' } });
    await expect(get(to, 'https://api.vendor.test/')).rejects.toMatchObject({
      kind: 'proxy',
      retryable: true,
    });
  });

  it('gives a silent proxy the time of a connection', async () => {
    proxy.behaviour.silent = true;
    await expect(get(client(), 'https://api.vendor.test/', 200)).rejects.toMatchObject({
      kind: 'timeout-connect',
    });
  });

  it('names the setting for the authority of a proxy that inspects TLS, and accepts it then', async () => {
    proxy.behaviour.inspect = inspecting;
    proxy.targetPort = (plain.address() as AddressInfo).port;
    await expect(get(client(), 'https://api.vendor.test/')).rejects.toMatchObject({
      kind: 'tls',
      message: expect.stringContaining('OUTBOUND_CA_FILE'),
    });
    await http?.close();
    const to = client({ ca: undefined, authorities: [inspecting.cert] });
    expect(await (await get(to, 'https://api.vendor.test/x')).text(100)).toBe('answered /x');
  });
});

describe('http through a proxy', () => {
  beforeEach(() => {
    proxy.targetPort = (plain.address() as AddressInfo).port;
  });

  it('sends the absolute form', async () => {
    const response = await get(client(), 'http://api.vendor.test:8080/v1/x?y=1');
    expect(await response.text(100)).toBe('answered /v1/x?y=1');
    expect(proxy.asked).toEqual(['http://api.vendor.test:8080/v1/x?y=1']);
    expect(seen[0]?.headers.host).toBe('api.vendor.test:8080');
  });

  it('takes 407 for the proxy’s and 401 for the service’s', async () => {
    expect((await get(client(), 'http://api.vendor.test/status/401')).status).toBe(401);
    proxy.behaviour.login = 'user:password';
    await expect(get(http ?? client(), 'http://api.vendor.test/')).rejects.toMatchObject({
      kind: 'proxy',
      message: 'The proxy asks for credentials (407). Check HTTP_PROXY.',
    });
  });
});

describe('what a proxy does not change', () => {
  it.each([
    'http://169.254.169.254/',
    'http://0xa9fea9fe/',
    'https://2130706433/',
    'https://[::ffff:10.0.0.1]/',
    'http://metadata.google.internal/',
    'https://localhost/',
  ])('%s is refused', async (address) => {
    await expect(get(client(), address)).rejects.toMatchObject({ code: 400 });
    expect(proxy.asked).toEqual([]);
  });

  it('calls the hosts of NO_PROXY directly, at addresses that are checked', async () => {
    const { port } = secure.address() as AddressInfo;
    const proxies = { httpsProxy: proxy.url, noProxy: ['.vendor.test'] };
    const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const address = `https://api.vendor.test:${port}/`;
    await expect(get(client({ proxies, resolve }), address)).rejects.toMatchObject({ code: 400 });
    await http?.close();
    const to = client({ proxies, resolve, allowedPrivateHosts: ['127.0.0.1'] });
    expect((await get(to, address)).status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });

  it('calls only hosts that the operator lists', async () => {
    const to = client({ allowedHosts: ['*.vendor.test', 'other.test:8443'] });
    expect((await get(to, 'https://api.vendor.test/')).status).toBe(200);
    for (const address of [
      'https://vendor.test/',
      'https://evil-vendor.test/',
      'https://other.test/',
    ]) {
      await expect(get(to, address)).rejects.toThrow(/OUTBOUND_ALLOWED_HOSTS/);
      expect(() => to.assertAddressAllowed(address)).toThrow(/OUTBOUND_ALLOWED_HOSTS/);
    }
    expect(() => to.assertAddressAllowed('https://other.test:8443/')).not.toThrow();
  });
});

test.each([
  ['*', 'https://any.test/', true],
  ['vendor.test', 'https://vendor.test/', true],
  ['vendor.test', 'https://api.vendor.test/', true],
  ['.vendor.test', 'https://vendor.test/', true],
  ['*.vendor.test', 'https://a.b.vendor.test/', true],
  ['vendor.test', 'https://notvendor.test/', false],
  ['VENDOR.test.', 'https://vendor.TEST/', true],
  ['bücher.test', 'https://xn--bcher-kva.test/', true],
  ['vendor.test:8443', 'https://vendor.test:8443/', true],
  ['vendor.test:8443', 'https://vendor.test/', false],
  ['vendor.test:443', 'https://vendor.test/', true],
  ['10.0.0.0/8', 'http://10.1.2.3/', true],
  ['10.0.0.0/8', 'http://[::ffff:10.1.2.3]/', true],
  ['10.0.0.0/8', 'http://11.0.0.1/', false],
  ['10.0.0.0/8', 'http://10.vendor.test/', false],
  ['10.1.2.3:80', 'http://10.1.2.3/', true],
  ['[::1]:8080', 'http://[::1]:8080/', true],
  ['::1', 'http://[0:0:0:0:0:0:0:1]/', true],
  ['fd00::/8', 'http://[fd12::1]/', true],
])('NO_PROXY %s and %s: %p', (entry, address, isListed) => {
  expect(new HostList([entry], { withSubdomains: true }).has(new URL(address))).toBe(isListed);
});
