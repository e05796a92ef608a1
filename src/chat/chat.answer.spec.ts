import { describe, expect, it } from '@jest/globals';
import { turnUsage } from './chat.answer.js';

const sent = [{ role: 'user', content: 'Hello there' }] as const;

describe('turnUsage', () => {
  it('takes the counts of the provider as they are', () => {
    const usage = { inputTokens: 10, outputTokens: 0, totalTokens: 12, raw: {} };
    expect(turnUsage(usage, sent, 'Hi')).toEqual({
      inputTokens: 10,
      outputTokens: 0,
      totalTokens: 12,
      estimated: false,
    });
  });

  it('estimates what the provider left out, and marks it', () => {
    expect(turnUsage({ inputTokens: 10, raw: {} }, sent, 'Hi there')).toEqual({
      inputTokens: 10,
      outputTokens: 2,
      totalTokens: 12,
      estimated: true,
    });
    expect(turnUsage(undefined, sent, '').estimated).toBe(true);
  });
});
