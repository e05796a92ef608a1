import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ProxyServer } from '../../../test/support/proxy-server.js';
import { eventually } from '../../../test/support/wait.js';
import { OutboundError, OutboundHttp } from '../../platform/outbound/index.js';
import { probeConnection } from './connection.probe.js';
import { StepLog } from './trial.js';

describe('connection probe', () => {
  let server: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => socket.destroy());
      socket.resume();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });

  afterAll(async () => {
    server.close();
    await once(server, 'close');
  });

  beforeEach(() => {
    connections = 0;
  });

  async function probe(
    address: string,
    allowedPrivateHosts: string[],
    signal = new AbortController().signal,
  ): Promise<string[]> {
    const log = new StepLog();
    const http = new OutboundHttp({ allowedPrivateHosts });
    try {
      await probeConnection(new URL(address), log, { http, signal });
    } finally {
      await http.close();
    }
    return log.steps.map(({ step, ok }) => (ok ? step : `${step} failed`));
  }

  it('connects to an address that is allowed, and leaves nothing open', async () => {
    expect(await probe(`http://127.0.0.1:${port}/v1`, ['127.0.0.0/8'])).toEqual(['dns', 'connect']);
    expect(connections).toBe(1);
    await eventually(
      () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
      (open) => open === 0,
    );
  });

  it.each([
    ['one that is private', []],
    ['one that is allowed by its name alone, which the client of the call decides', ['localhost']],
  ])('does not connect to %s', async (_, allowed) => {
    expect(await probe(`http://localhost:${port}/v1`, allowed)).toEqual(['dns']);
    expect(connections).toBe(0);
  });

  it('goes by the proxy, whose refusal is a step of its own', async () => {
    const proxy = await new ProxyServer().start();
    proxy.targetPort = port;
    const http = new OutboundHttp({
      allowedPrivateHosts: [],
      proxies: { httpsProxy: proxy.url, httpProxy: proxy.url },
    });
    const run = async (address: string): Promise<StepLog> => {
      const log = new StepLog();
      const signal = new AbortController().signal;
      await probeConnection(new URL(address), log, { http, signal }).catch(() => undefined);
      return log;
    };
    try {
      expect((await run('http://api.vendor.test/v1')).steps).toMatchObject([
        { step: 'proxy', ok: true },
      ]);
      proxy.behaviour.login = 'user:password';
      expect((await run('https://api.vendor.test/v1')).steps).toMatchObject([
        {
          step: 'proxy',
          ok: false,
          detail: 'The proxy asks for credentials (407). Check HTTPS_PROXY.',
        },
      ]);
      expect(proxy.asked).toEqual(['api.vendor.test:443']);
    } finally {
      await http.close();
      await proxy.close();
    }
  });

  it('ends at once when it is aborted, also in the middle of a handshake', async () => {
    const controller = new AbortController();
    const probing = probe(`https://127.0.0.1:${port}/v1`, ['*'], controller.signal);
    setTimeout(() => controller.abort(), 50);
    const failure: unknown = await probing.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OutboundError);
    expect((failure as OutboundError).kind).toBe('aborted');
  });
});
