import { describe, expect, it } from '@jest/globals';
import { apiKeyDigest, newApiKey, newKeyId, readApiKey } from './access.js';

describe('an API key', () => {
  it('has its id, 256 bits and a checksum', () => {
    const keyId = newKeyId();
    const key = newApiKey(keyId);

    expect(key).toMatch(new RegExp(`^sk-plinth-${keyId}-[0-9a-f]{64}-[0-9a-f]{8}$`));
    expect(readApiKey(key)).toEqual({ keyId, digest: apiKeyDigest(key) });
    expect(newApiKey(keyId)).not.toBe(key);
  });

  it('is refused when a character is wrong, missing or too many', () => {
    const key = newApiKey(newKeyId());
    const wrong = [...key].map((character, at) => {
      const other = character === '0' ? '1' : '0';
      return key.slice(0, at) + other + key.slice(at + 1);
    });

    expect(wrong.length).toBe(100);
    for (const one of [...wrong, key.slice(1), key.slice(0, -1), `${key}0`, ` ${key}`, '']) {
      expect(readApiKey(one)).toBeUndefined();
    }
  });

  it('keeps its checksum: a key of an earlier release stays valid', () => {
    const start = `sk-plinth-0123456789abcdef-${'0123456789abcdef'.repeat(4)}`;

    expect(readApiKey(`${start}-356ad4df`)?.keyId).toBe('0123456789abcdef');
  });
});
