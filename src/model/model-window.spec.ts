import { describe, expect, it } from '@jest/globals';
import { estimateMessageTokens, estimateTokens, sendableTokens } from './model-window.js';

describe('estimateTokens', () => {
  it('counts a Chinese character as a token and four letters as one', () => {
    expect(estimateTokens('知识库')).toBe(3);
    expect(estimateTokens('abcdefgh')).toBe(2);
    expect(estimateTokens('äbcdefgh知')).toBe(3);
    expect(estimateTokens('')).toBe(0);
  });
});

describe('estimateMessageTokens', () => {
  it('counts the arguments of tool calls, too', () => {
    const bare = { role: 'assistant', content: 'abcd' } as const;
    const call = { id: '1', name: 'read', arguments: '{"a":"bcdef"}', input: {} };
    expect(estimateMessageTokens(bare)).toBe(5);
    const image = { type: 'image', mimeType: 'image/png', data: 'aWs=' } as const;
    const seen = { role: 'user', content: [image, image, { type: 'text', text: 'abcd' }] } as const;
    expect(estimateMessageTokens(seen)).toBe(3_205);
    expect(estimateMessageTokens({ ...bare, toolCalls: [call] })).toBe(14);
  });
});

describe('sendableTokens', () => {
  it('leaves room for the answer, and at least half of the window to the question', () => {
    expect(sendableTokens({})).toBe(32_768 - 4_096);
    expect(sendableTokens({ contextWindow: 8_000, maxAnswer: 1_000 })).toBe(7_000);
    expect(sendableTokens({ contextWindow: 4_001, maxAnswer: 100_000 })).toBe(2_001);
  });
});
