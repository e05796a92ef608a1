import { expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import { AdapterRegistry, chatAdapters } from '../../adapter.registries.js';
import { chatCompletions } from './chat-completions.protocol.js';
import type { ChatCall, ChatPart } from './chat.adapter.js';
import { messages } from './messages.protocol.js';
import { ollama } from './ollama.protocol.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { responses } from './responses.protocol.js';
import { StopSequences } from './answer-text.js';

const TEXT = 'Thought: a <b>\nObserv\nObservation: none';
const CALL: ChatCall = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

const said = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

/** The text as one piece a character, in the words of each protocol, without an end. */
const PROTOCOLS: readonly (readonly [string, ChatProtocol, (piece: string) => string])[] = [
  [
    'chat-completions',
    chatCompletions({
      address: { prefix: '/v1' },
      dialect: { maxOutputField: 'max_tokens', streamUsage: true, json: 'text' },
    }),
    (content) => said({ choices: [{ index: 0, delta: { content } }] }),
  ],
  [
    'messages',
    messages({ prefix: '/v1' }),
    (text) => said({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ],
  ['ollama', ollama, (content) => `${JSON.stringify({ message: { content }, done: false })}\n`],
  [
    'responses',
    responses({ prefix: '/v1' }),
    (delta) => said({ type: 'response.output_text.delta', output_index: 0, delta }),
  ],
];

test.each(PROTOCOLS)('%s: the text ends before the first sequence', (_, protocol, eventOf) => {
  const stream = protocol.answerStream({ address: 'https://x.test' }, true, CALL);
  stream.expect({ stop: ['\nObservation:', 'never'] });
  const parts: ChatPart[] = [];
  const events = [...TEXT].map(eventOf);
  let read = 0;
  while (!stream.isOver && read < events.length)
    stream.read(Buffer.from(events[read++] ?? ''), parts);
  // The service would go on.
  expect(TEXT.slice(0, read)).toMatch(/Observation:$/);
  stream.end(parts);
  const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  expect(text).toBe('Thought: a <b>\nObserv');
  expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'stop', raw: 'stop_sequence' });
});

it('loses nothing of what only begins like a sequence, wherever the pieces are cut', () => {
  for (let cut = 0; cut <= TEXT.length; cut++) {
    const stops = new StopSequences(['none at all', 'Observes', '']);
    const shown = stops.add(TEXT.slice(0, cut)) + stops.add(TEXT.slice(cut)) + stops.end();
    expect([shown, stops.hasStopped]).toEqual([TEXT, false]);
  }
});

it('end the text of a service that refuses them, streamed and in one piece', async () => {
  const closed = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      response.setHeader('content-type', 'application/json');
      if (body.includes('"stop"')) {
        response.statusCode = 400;
        // xAI: lidge-jun/opencodex issue 5278, 2026-09.
        response.end(
          '{"code":"invalid-argument","error":"Model m does not support parameter stop."}',
        );
      } else if (body.includes('"stream":true')) {
        response.setHeader('content-type', 'text/event-stream');
        response.on('close', () => closed.resolve(undefined));
        // The answer never ends by itself.
        response.write(said({ choices: [{ delta: { content: 'One, t' } }] }));
        response.write(said({ choices: [{ delta: { content: 'wo, three' } }] }));
      } else {
        const message = { content: 'One, two, three' };
        response.end(JSON.stringify({ choices: [{ message, finish_reason: 'length' }] }));
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.1'] });
  const connection = { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
  const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
  const options = { limits, signal: new AbortController().signal };
  const adapter = new AdapterRegistry(chatAdapters(http)).get('xai');
  const call = { ...CALL, stop: [', two'] };
  try {
    const parts: ChatPart[] = [];
    for await (const some of adapter.stream(call, connection, options)) parts.push(...some);
    const finish = { reason: 'stop', raw: 'stop_sequence' };
    expect(parts).toEqual([
      { type: 'text-delta', text: 'One' },
      { type: 'finish', ...finish },
    ]);
    await closed.promise;
    expect(await adapter.complete(call, connection, options)).toMatchObject({
      text: 'One',
      finish,
    });
  } finally {
    await http.close();
    server.close();
  }
});
