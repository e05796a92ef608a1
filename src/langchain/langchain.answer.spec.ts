import type { ChatModelStreamEvent } from '@langchain/core/language_models/event';
import { ChatModelStream } from '@langchain/core/language_models/stream';
import { describe, expect, it } from '@jest/globals';
import type { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import type { ChatPart, ToolCall } from '../provider/index.js';
import { Answer, AnswerEvents, toChunk } from './langchain.answer.js';
import { toChatMessages } from './langchain.messages.js';

const WHOLE: ToolCall = { id: 'a', name: 'look', arguments: '{"at":1}', input: { at: 1 } };
const INVALID: ToolCall = {
  ...{ id: 'b', name: 'look', arguments: '{"at":', input: {} },
  invalid: true,
};
const providerState = { origin: 'messages', data: { blocks: [{ signature: 'c2ln' }] } };
const READS: readonly (readonly ChatPart[])[] = [
  [{ type: 'reasoning-delta', text: 'Hm.' }],
  [
    { type: 'text-delta', text: 'I look.' },
    { type: 'tool-call', toolCall: INVALID },
  ],
  [
    { type: 'tool-call', toolCall: WHOLE },
    { type: 'provider-state', providerState },
  ],
  [{ type: 'finish', reason: 'tool-calls' }],
];

function inOnePiece(): AIMessageChunk {
  const answer = new Answer();
  for (const parts of READS) answer.add(parts);
  return answer.message('m');
}

function inChunks(): AIMessageChunk {
  return READS.map((parts) => toChunk(parts, 'm').message as AIMessageChunk).reduce((sum, chunk) =>
    sum.concat(chunk),
  );
}

function inEvents(): PromiseLike<AIMessage> {
  const events = new AnswerEvents();
  async function* read(): AsyncGenerator<ChatModelStreamEvent> {
    for (const parts of READS) yield* events.read(parts, 'm');
  }
  return new ChatModelStream(read()).output;
}

describe('an answer for LangChain', () => {
  it.each([
    ['in one piece', inOnePiece],
    ['in chunks', inChunks],
    ['in events', inEvents],
  ])('keeps %s what is sent back with it', async (_how, made) => {
    const message = await made();
    expect(message.tool_calls).toEqual([expect.objectContaining({ id: 'a', args: { at: 1 } })]);
    const [sent] = toChatMessages([message]);
    expect(sent).toMatchObject({ role: 'assistant', content: 'I look.', providerState });
    const calls = sent?.role === 'assistant' ? (sent.toolCalls ?? []) : [];
    expect(new Map(calls.map((call) => [call.id, call]))).toEqual(
      new Map([
        ['a', WHOLE],
        ['b', INVALID],
      ]),
    );
  });
});
