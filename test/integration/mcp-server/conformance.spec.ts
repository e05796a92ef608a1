import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeKey } from '../../support/api-keys.js';
import { approve, registerClient } from '../../support/oauth-client.js';
import { Plinth } from '../../support/plinth.js';
import { runProgram } from '../../support/programs.js';

/**
 * The official conformance suite, @modelcontextprotocol/conformance, against POST /mcp. It sends no credentials, so that a proxy adds
 * a key. What a revision requires and Plinth does not offer is listed with its reason in the file of the revision.
 */
const PROGRAM = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
const SUITE_MS = 300_000;

let plinth: Plinth;
let proxy: Server;
let folder: string;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plinth-conformance-'));
  plinth = await Plinth.start();
  const { key } = await makeKey(await plinth.signIn(), { permissions: ['chat:chat:use'] });
  proxy = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const { method, url: path } = incoming;
    const outgoing = request(plinth.url + (path ?? ''), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    answer.once('close', () => outgoing.destroy());
    outgoing.once('error', () => answer.destroy());
    incoming.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
});

afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await plinth.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The program waits for a person: it prints an address, and listens where the address leads back to. */
it(
  'the authorization server has valid metadata and gives tokens for a code',
  async () => {
    const session = await plinth.signIn();
    const [issuer, port] = [plinth.url, await freePort()];
    const redirectUris = { redirect_uris: ['http://127.0.0.1/callback'] };
    const clientId = await registerClient(plinth.anonymous(), redirectUris);
    const child = spawn(process.execPath, [
      ...[PROGRAM, 'authorization', '--url', issuer, '--resource', `${issuer}/mcp`],
      ...['--client-id', clientId, '--port', String(port), '-o', folder],
    ]);
    const seconds = setTimeout(() => child.kill(), SUITE_MS / 3);
    let printed = '';
    let opened: Promise<unknown> | undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        printed += piece.toString();
        const [, query] = /\/oauth\/authorize\?(\S+)\n/.exec(printed) ?? [];
        if (query === undefined || opened) return;
        const fields = Object.fromEntries(new URLSearchParams(query));
        opened = approve(session, fields).then((address) => fetch(address));
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(seconds);
    await opened;
    expect({ code, printed }).toEqual({
      code: 0,
      printed: expect.stringMatching(/authorization-code-grant/),
    });
    expect(printed).not.toMatch(/SKIPPED|FAILURE|WARNING|✗/);
  },
  SUITE_MS,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it.each(['2026-07-28', '2025-11-25'])(
  'POST /mcp does what revision %s requires, but for the listed scenarios',
  async (revision) => {
    const expected = join(import.meta.dirname, `conformance-${revision}.yaml`);
    const options = ['--url', url, '--requirements', revision, '-o', folder];
    const printed = await runProgram(
      [process.execPath, PROGRAM, 'server', ...options, '--expected-failures', expected],
      {},
      { timeout: SUITE_MS, withErrors: true },
    );
    expect(printed).toMatch(/tools-list.*passed/);
  },
  SUITE_MS,
);
