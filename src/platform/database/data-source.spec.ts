import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { createDataSource } from './data-source.js';
import { Database } from './database.js';
import { openInMemory } from './embedded.js';
import { isConnectionFailure } from './violation.js';

describe('a server that takes a connection and says nothing', () => {
  it('is given up after 10 seconds, as one that cannot be reached', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `postgres://somebody@127.0.0.1:${port}/nothing`;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    try {
      const failure = createDataSource({ entities: [], url, poolSize: 1 })
        .initialize()
        .catch((error: unknown) => error);
      while (sockets.length === 0) await new Promise((resolve) => setImmediate(resolve));
      jest.advanceTimersByTime(10_000);

      expect(isConnectionFailure(await failure)).toBe(true);
    } finally {
      jest.useRealTimers();
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });
});

describe('an embedded database', () => {
  it('prepares statements for a client that follows another, in the same pool or in the next', async () => {
    const embedded = await openInMemory();
    try {
      for (const answer of [1, 2]) {
        const source = await createDataSource({ entities: [], embedded, poolSize: 1 }).initialize();
        const database = new Database(source);
        const ask = () => database.prepared('SELECT $1::integer AS answer', [answer]);
        expect(await ask()).toEqual([{ answer }]);
        await expect(database.prepared('SELECT 1 / $1::integer', [0])).rejects.toThrow('zero');
        expect(await ask()).toEqual([{ answer }]);
        await source.destroy();
      }
    } finally {
      await embedded.close();
    }
  });
});
