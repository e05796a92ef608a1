import { expect, it, test } from '@jest/globals';
import { awsChunk, awsFrame } from '../../../test/support/aws-event-frames.js';
import { serverSentEvents } from './aws-event-stream.js';

async function read(...pieces: readonly Buffer[]): Promise<string> {
  async function* body(): AsyncGenerator<Buffer> {
    yield* pieces;
  }
  let text = '';
  for await (const bytes of serverSentEvents(body())) text += bytes.toString();
  return text;
}

const DELTA = { type: 'content_block_delta', index: 0, delta: { text: 'Zürich\n' } };
const STOP = { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 9 } };
const WIRE = Buffer.concat([awsChunk(DELTA), awsChunk({ p: 'kept open' }), awsChunk(STOP)]);
const EVENTS = [DELTA, STOP]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

it('holds the events of the model, wherever the reads are cut', async () => {
  for (let cut = 0; cut <= WIRE.length; cut++) {
    expect(await read(WIRE.subarray(0, cut), WIRE.subarray(cut))).toBe(EVENTS);
  }
});

it('ends with an exception as an error', async () => {
  const headers = { ':exception-type': 'throttlingException', ':message-type': 'exception' };
  const error = { type: 'throttlingException', message: 'Too many requests' };
  expect(await read(awsFrame(headers, { message: error.message }))).toBe(
    `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`,
  );
});

test.each<[string, (wire: Buffer) => Buffer]>([
  ['another checksum', (wire) => wire.fill(0, wire.length - 4)],
  ['text', () => Buffer.from('data: {"type":"ping"}\n\n')],
  ['no length', () => Buffer.alloc(16)],
])('%s is no such stream', async (_, damage) => {
  await expect(read(damage(awsChunk(STOP)))).rejects.toMatchObject({ kind: 'protocol' });
});
