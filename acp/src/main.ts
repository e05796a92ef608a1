#!/usr/bin/env node
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { createPlinth } from '@plinth/client';
import { plinthAgent } from './agent.js';
import { readSettings } from './settings.js';
import type { Settings } from './settings.js';

let settings: Settings;
try {
  settings = readSettings(process.env);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}

const { url: baseUrl, apiKey } = settings;
const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
const connection = plinthAgent(createPlinth({ baseUrl, apiKey }), settings).connect(
  ndJsonStream(output, input),
);
// The editor has gone: runs go on, and a later editor loads their sessions.
await connection.closed;
process.exit(0);
