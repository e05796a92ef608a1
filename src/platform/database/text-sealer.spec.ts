import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config/index.js';
import { TextSealer } from './text-sealer.js';

const FIRST = 'first-secret-key-of-at-least-32-characters';
const SECOND = 'second-secret-key-of-at-least-32-characters';
const place = '000000:model:7';

function sealer(current: string, previous?: string): TextSealer {
  return new TextSealer(
    loadConfig({ SECRET_KEY: current, ...(previous && { SECRET_KEY_PREVIOUS: previous }) })
      .encryptionKeys,
  );
}

describe('text sealer', () => {
  it('opens what it sealed, in the documented form and without the plain text', () => {
    const sealed = sealer(FIRST).seal(place, 'sk-plain');
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]{11}$/);
    expect(sealed).not.toContain('sk-plain');
    expect(sealer(FIRST).open(place, sealed)).toBe('sk-plain');
  });

  it('uses a nonce of its own each time', () => {
    const one = sealer(FIRST);
    expect(one.seal(place, 'sk-plain')).not.toBe(one.seal(place, 'sk-plain'));
  });

  it.each([
    ['another record', '000000:model:8'],
    ['another tenant', '000001:model:7'],
    ['another kind of record', '000000:agent:7'],
  ])('does not open a text that was copied to %s', (_, elsewhere) => {
    const sealed = sealer(FIRST).seal(place, 'sk-plain');
    expect(sealer(FIRST).open(elsewhere, sealed)).toBeUndefined();
  });

  it('does not open a text when any part of it was changed or cut off', () => {
    const sealed = sealer(FIRST).seal(place, 'sk-plain');
    const parts = sealed.split('.');
    const changes = parts.map((part, index) =>
      parts
        .map((one, at) => (at === index ? (part.startsWith('A') ? 'B' : 'A') + one.slice(1) : one))
        .join('.'),
    );
    const cut = parts.map((_, index) => parts.slice(0, index).join('.'));
    const shortTag = [...parts.slice(0, 3), parts[3]?.slice(0, 6), parts[4]].join('.');
    for (const broken of [...changes, ...cut, shortTag, `${sealed}.AAAA`, 'sk-plain']) {
      expect(sealer(FIRST).open(place, broken)).toBeUndefined();
    }
  });

  it('opens with the previous key, seals with the current one, and forgets a key that is no longer given', () => {
    const old = sealer(FIRST).seal(place, 'sk-plain');
    const rotating = sealer(SECOND, FIRST);
    expect(rotating.open(place, old)).toBe('sk-plain');
    expect(old.startsWith(rotating.previousPrefix ?? 'none')).toBe(true);
    const renewed = rotating.seal(place, 'sk-plain');
    expect(sealer(SECOND).open(place, renewed)).toBe('sk-plain');
    expect(sealer(SECOND).open(place, old)).toBeUndefined();
    expect(sealer(FIRST, FIRST).previousPrefix).toBeUndefined();
  });
});
