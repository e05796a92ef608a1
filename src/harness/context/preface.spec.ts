import { describe, expect, it } from '@jest/globals';
import { prefaceOf } from './preface.js';

describe('prefaceOf', () => {
  it('tells what was said, oldest first', () => {
    const newestFirst = [
      { role: 'ASSISTANT', content: 'Two.' },
      { role: 'USER', content: 'One?' },
    ] as const;
    expect(prefaceOf(newestFirst, 1_000)).toBe('User: One?\n\nAssistant: Two.');
    expect(prefaceOf([], 1_000)).toBeUndefined();
  });

  it('keeps the newest that fits, in bytes, and shortens long texts', () => {
    const texts = Array.from({ length: 20 }, (_, index) => ({
      role: 'USER' as const,
      content: `${index} ${'字'.repeat(5_000)}`,
    }));
    const text = prefaceOf(texts, 16 * 1024) ?? '';
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024);
    expect(text).toMatch(/^User: 0 字+…$/);
  });
});
