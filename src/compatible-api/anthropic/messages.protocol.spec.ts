import { describe, expect, it } from '@jest/globals';
import type { TurnPart } from '../../agent/index.js';
import { IgnoredParameters } from '../answer/answer.js';
import { MessagesRequest } from './messages.protocol.js';

const asked = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
const thinking = { type: 'adaptive' };
const messages = [{ role: 'user', content: 'Hello' } as const];
const raw = undefined;

/** The answer to the parts. */
async function written(parts: TurnPart[], more: object = {}): Promise<object> {
  const writer = MessagesRequest.of({ ...asked, ...more }, {}).writer(false);
  writer.add(parts);
  return writer.whole({ messages });
}

/** The names of the events of the parts. */
async function eventsOf(parts: TurnPart[], more: object = {}): Promise<string[]> {
  const writer = MessagesRequest.of({ ...asked, ...more }, {}).writer(false);
  const text = writer.add(parts) + (await writer.end({ messages }));
  return [...text.matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);
}

describe('an answer in the form of messages', () => {
  it('counts cached tokens beside the input', async () => {
    const usage = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 60, raw };

    expect(await written([{ type: 'usage', usage }])).toMatchObject({
      usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 7 },
    });
  });

  it('begins a block wherever another kind of text begins', async () => {
    const parts: TurnPart[] = [
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'text-delta', text: 'A' },
      { type: 'text-delta', text: 'B' },
      { type: 'reasoning-delta', text: 'Hm?' },
      { type: 'text-delta', text: 'C' },
    ];

    expect(await written(parts, { thinking })).toMatchObject({
      content: [{ thinking: 'Hm.' }, { text: 'AB' }, { thinking: 'Hm?' }, { text: 'C' }],
    });
    expect(await written(parts)).toMatchObject({ content: [{ text: 'ABC' }] });
    expect(
      await written(parts, { thinking: { type: 'adaptive', display: 'omitted' } }),
    ).toMatchObject({ content: [{ text: 'ABC' }] });
  });

  it('has all events of the protocol when it has no content', async () => {
    expect(await eventsOf([{ type: 'finish', reason: 'stop' }])).toEqual([
      ...['message_start', 'ping', 'message_delta', 'message_stop'],
    ]);
  });

  it('is none where the service says that it is not whole', async () => {
    await expect(written([{ type: 'finish', reason: 'error' }])).rejects.toThrow(
      'could not finish',
    );
  });
});

describe('a request in the form of messages', () => {
  it('asks no model to think without being told so, and leaves it to an agent', () => {
    const thinks = (more: object): unknown =>
      MessagesRequest.of({ ...asked, ...more }, {}).translate(new IgnoredParameters(false))
        .thinking;

    expect([thinks({}), thinks({ thinking })]).toEqual([false, true]);
    expect(thinks({ thinking: { type: 'disabled' } })).toBe(false);
    expect(thinks({ model: 'agent-3' })).toBeUndefined();
  });
});
