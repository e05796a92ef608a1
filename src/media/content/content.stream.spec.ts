import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ClientGoneError, ContentWriter } from './content.stream.js';

const server = createServer();
let client: Socket;
let response: ServerResponse;

/** A client that asks, and reads only when it is told to. */
beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = connect(port, '127.0.0.1');
  client.pause();
  client.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
  response = ((await once(server, 'request')) as [unknown, ServerResponse])[1];
});

afterEach(async () => {
  client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const MIB = 1024 * 1024;

/** More than every buffer between the two can hold. */
async function fill(writer: ContentWriter): Promise<void> {
  for (let written = 0; written < 200; written += 1) await writer.write(Buffer.alloc(MIB));
}

it('gives up on a client that reads nothing', async () => {
  const writer = new ContentWriter(response, 100);
  writer.begin('image/png', 200 * MIB);
  await expect(fill(writer)).rejects.toThrow('The client reads nothing');
});

it('gives up at once when the client leaves, while it waits and afterwards', async () => {
  const writer = new ContentWriter(response);
  writer.begin('image/png', 200 * MIB);
  const filling = expect(fill(writer)).rejects.toThrow(ClientGoneError);
  await once(client, 'readable');
  client.destroy();
  await filling;
  await expect(writer.write(Buffer.alloc(1))).rejects.toThrow(ClientGoneError);
  await writer.end();
});

it('has ended when the client has everything, and keeps nothing of what was sent', async () => {
  const writer = new ContentWriter(response);
  const large = Buffer.alloc(MIB, 'x');
  const small = Buffer.from('shares its memory');
  writer.begin('image/png', large.length + small.length);
  client.resume();
  await writer.write(large);
  await writer.write(small);
  await writer.end();
  expect(response.writableFinished).toBe(true);
  expect(large.length).toBe(0);
  expect(small.toString()).toBe('shares its memory');
});
