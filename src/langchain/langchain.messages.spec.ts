import { AIMessage, ChatMessage as NamedMessage, ToolMessage } from '@langchain/core/messages';
import { describe, expect, it } from '@jest/globals';
import type { ChatMessage } from '../provider/index.js';
import { toChatMessages, toLangChainMessages } from './langchain.messages.js';

const CONVERSATION: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What are these?' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA', detail: 'low' },
      { type: 'image-url', url: 'https://example.test/a.png', detail: 'high' },
      { type: 'image-url', url: 'https://example.test/b.png' },
    ],
  },
  {
    role: 'assistant',
    content: 'I look.',
    toolCalls: [
      { id: 'a', name: 'look', arguments: '{"at":1}', input: { at: 1 } },
      { id: 'x', name: 'look', arguments: '{"at":', input: {}, invalid: true },
      { id: 'b', name: 'look', arguments: '{}', input: {} },
    ],
    providerState: { origin: 'messages', data: { blocks: [{ signature: 'c2ln' }] } },
  },
  { role: 'tool', toolCallId: 'a', name: 'look', content: 'A cat.' },
  { role: 'tool', toolCallId: 'x', name: 'look', content: 'Not JSON.' },
  { role: 'tool', toolCallId: 'b', name: 'look', content: 'A dog.' },
  { role: 'assistant', content: 'A cat and a dog.' },
  { role: 'user', content: 'Thanks.' },
];

describe('messages of LangChain', () => {
  it('hold a whole conversation, there and back', () => {
    expect(toChatMessages(toLangChainMessages(CONVERSATION))).toEqual(CONVERSATION);
  });

  it('keep an image in the request where its link holds it', () => {
    const content = [{ type: 'image-url', url: 'data:image/png;base64,AAAA' }] as const;
    expect(toChatMessages(toLangChainMessages([{ role: 'user', content }]))).toEqual([
      { role: 'user', content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] },
    ]);
  });

  it('take the name of a tool from the call before', () => {
    const [answer, result] = toChatMessages([
      new AIMessage({ content: '', tool_calls: [{ id: 'a', name: 'look', args: {} }] }),
      new ToolMessage({ tool_call_id: 'a', content: [{ type: 'text', text: 'A cat.' }] }),
    ]);
    expect(answer).toMatchObject({ toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] });
    expect(result).toEqual({ role: 'tool', toolCallId: 'a', name: 'look', content: 'A cat.' });
  });

  it('send an invalid call as the model wrote it', () => {
    const call = { id: 'a', name: 'look', args: '{"at', error: 'Malformed args.' };
    const invalid = { id: 'a', name: 'look', arguments: '{"at', input: {}, invalid: true };
    const listed = new AIMessage({ content: '', invalid_tool_calls: [call] });
    const block = { type: 'invalid_tool_call' as const, ...call };
    const ofEvents = new AIMessage({ content: [block] });
    expect(toChatMessages([listed, ofEvents])).toEqual([
      { role: 'assistant', content: '', toolCalls: [invalid] },
      { role: 'assistant', content: '', toolCalls: [invalid] },
    ]);
  });

  it.each([
    ['a text', 'state'],
    ['no origin', { data: {} }],
    ['no data', { origin: 'x', data: null }],
  ])('ignore a state that is or has %s', (_what, state) => {
    const message = new AIMessage({ content: 'a', response_metadata: { provider_state: state } });
    expect(toChatMessages([message])).toEqual([{ role: 'assistant', content: 'a' }]);
  });

  it.each([
    ['an unknown role', new NamedMessage('Hello', 'critic'), 'A message of type "generic"'],
    [
      'a result without its call',
      new ToolMessage({ tool_call_id: 'x', content: 'A cat.' }),
      'The tool message of the call x has no name',
    ],
    [
      'a call without an id',
      new AIMessage({ content: '', tool_calls: [{ name: 'look', args: {} }] }),
      'A call of the tool look has no id',
    ],
    [
      'an invalid call without an id',
      new AIMessage({ content: '', invalid_tool_calls: [{ name: 'look', args: '{"at' }] }),
      'A call of the tool look has no id',
    ],
  ])('are refused with %s', (_what, message, reason) => {
    expect(() => toChatMessages([message])).toThrow(reason);
  });
});
