import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OutboundHttp } from './outbound-http.js';
import type { OutboundRequest } from './outbound-http.js';
import { ForbiddenAddressError } from './outbound.errors.js';

let handler: (request: IncomingMessage, response: ServerResponse) => void;
let connections = 0;
const server = createServer((incoming, response) => handler(incoming, response));
server.on('connection', () => connections++);
let port = 0;
let http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });

const request = (): OutboundRequest => ({
  method: 'GET',
  headers: {},
  signal: new AbortController().signal,
  timeouts: { connectMs: 20_000, idleMs: 20_000 },
});
const url = (): string => `http://127.0.0.1:${port}/`;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  await http.close();
  http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
});
afterAll(async () => {
  await http.close();
  server.close();
});

describe('addresses', () => {
  it('refuses a redirect and names it', async () => {
    handler = (_incoming, response) =>
      void response.writeHead(302, { location: 'http://169.254.169.254/x?token=1' }).end();
    const call = http.request(url(), request());
    await expect(call).rejects.toMatchObject({
      kind: 'redirect',
      message: expect.stringContaining('(302) to http://169.254.169.254/x,'),
    });
  });

  it('refuses a literal before any connection', async () => {
    const call = http.request('http://169.254.169.254/', request());
    await expect(call).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  it('asks the resolver once per connection and calls the address it checked', async () => {
    handler = (incoming, response) => void response.end(incoming.headers.host);
    const answers = ['127.0.0.1', '169.254.169.254'];
    let asked = 0;
    await http.close();
    http = new OutboundHttp({
      allowedPrivateHosts: ['127.0.0.0/8'],
      resolve: () => Promise.resolve([{ address: answers[asked++] ?? '0.0.0.0', family: 4 }]),
    });
    const first = await http.request(`http://rebind.example:${port}/`, request());
    expect(await first.text(100)).toBe(`rebind.example:${port}`);
    expect(asked).toBe(1);
    const otherConnection = http.request(`http://rebind2.example:${port}/`, request());
    await expect(otherConnection).rejects.toMatchObject({ rule: 'cloud metadata' });
  });

  it('refuses a name that leads to a private address', async () => {
    await http.close();
    http = new OutboundHttp({
      allowedPrivateHosts: [],
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const before = connections;
    const call = http.request(`http://inner.example:${port}/`, request());
    await expect(call).rejects.toThrow(/ALLOW_PRIVATE_MODEL_HOSTS/);
    expect(connections).toBe(before);
  });

  it('checks an address for saving without resolving it', () => {
    expect(() => http.assertAddressAllowed('http://10.0.0.1/')).toThrow(ForbiddenAddressError);
    expect(() => http.assertAddressAllowed('https://nowhere.invalid/v1')).not.toThrow();
  });
});
