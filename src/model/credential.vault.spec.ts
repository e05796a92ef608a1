import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../platform/config/index.js';
import { CredentialVault } from './model.repository.js';
import { UnreadableCredentialError } from './model.errors.js';

const FIRST = 'first-secret-key-of-at-least-32-characters';
const SECOND = 'second-secret-key-of-at-least-32-characters';
const place = { tenantId: '000000', recordKind: 'model', recordId: 7 };

function vault(current: string, previous?: string): CredentialVault {
  return new CredentialVault(
    loadConfig({ SECRET_KEY: current, ...(previous && { SECRET_KEY_PREVIOUS: previous }) }),
  );
}

describe('credential vault', () => {
  it('opens what it sealed, in the documented form and without the plain text', () => {
    const sealed = vault(FIRST).seal(place, 'sk-plain');
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]{11}$/);
    expect(sealed).not.toContain('sk-plain');
    expect(vault(FIRST).open(place, sealed)).toBe('sk-plain');
  });

  it('uses a nonce of its own each time', () => {
    const one = vault(FIRST);
    expect(one.seal(place, 'sk-plain')).not.toBe(one.seal(place, 'sk-plain'));
  });

  it.each([
    ['another record', { ...place, recordId: 8 }],
    ['another tenant', { ...place, tenantId: '000001' }],
    ['another kind of record', { ...place, recordKind: 'agent' }],
  ])('does not open a text that was copied to %s', (_, elsewhere) => {
    const sealed = vault(FIRST).seal(place, 'sk-plain');
    expect(() => vault(FIRST).open(elsewhere, sealed)).toThrow(UnreadableCredentialError);
  });

  it('does not open a text when any part of it was changed or cut off', () => {
    const sealed = vault(FIRST).seal(place, 'sk-plain');
    const parts = sealed.split('.');
    const changes = parts.map((part, index) =>
      parts
        .map((one, at) => (at === index ? (part.startsWith('A') ? 'B' : 'A') + one.slice(1) : one))
        .join('.'),
    );
    const cut = parts.map((_, index) => parts.slice(0, index).join('.'));
    const shortTag = [...parts.slice(0, 3), parts[3]?.slice(0, 6), parts[4]].join('.');
    for (const broken of [...changes, ...cut, shortTag, `${sealed}.AAAA`, 'sk-plain']) {
      expect(() => vault(FIRST).open(place, broken)).toThrow('Enter the API key again.');
    }
  });

  it('opens with the previous key, seals with the current one, and forgets a key that is no longer given', () => {
    const old = vault(FIRST).seal(place, 'sk-plain');
    const rotating = vault(SECOND, FIRST);
    expect(rotating.open(place, old)).toBe('sk-plain');
    expect(old.startsWith(rotating.previousPrefix ?? 'none')).toBe(true);
    const renewed = rotating.seal(place, 'sk-plain');
    expect(vault(SECOND).open(place, renewed)).toBe('sk-plain');
    expect(() => vault(SECOND).open(place, old)).toThrow(UnreadableCredentialError);
    expect(vault(FIRST, FIRST).previousPrefix).toBeUndefined();
  });
});
