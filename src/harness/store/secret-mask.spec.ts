import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadConfig } from '../../platform/config/index.js';
import { acrossTenants, inTenant } from '../../platform/database/index.js';
import { SecretMask } from './secret-mask.js';

const SECRET_KEY = 'a key of the service that is long enough';
const ADMIN_PASSWORD = 'correct horse battery';
const mask = new SecretMask(
  loadConfig({
    SECRET_KEY,
    ADMIN_PASSWORD,
    DATABASE_URL: 'postgres://plinth:p%40ssw0rd-of-db@db:5432/plinth',
  }),
);

describe('the mask over secrets', () => {
  it.each([
    [`key=${SECRET_KEY};`, 'key=[secret];'],
    [`${ADMIN_PASSWORD}${ADMIN_PASSWORD}`, '[secret][secret]'],
    ['at postgres://plinth:p%40ssw0rd-of-db@db:5432/plinth now', 'at [secret] now'],
    ['only p%40ssw0rd-of-db', 'only [secret]'],
    ['decoded p@ssw0rd-of-db', 'decoded [secret]'],
    ['nothing of that kind', 'nothing of that kind'],
  ])('%j becomes %j', (text, masked) => {
    expect(mask.apply(text)).toBe(masked);
    expect(mask.applyToBytes(Buffer.from(text)).toString()).toBe(masked);
  });

  it('takes out the secrets of the occasion, but no short words', () => {
    expect(mask.apply('sk-provider-key and key', ['sk-provider-key', 'key'])).toBe(
      '[secret] and key',
    );
  });

  it('remembers the keys of model services', () => {
    mask.learn(['sk-learned-key', 'key']);
    expect(mask.apply('sk-learned-key and key')).toBe('[secret] and key');
    expect(mask.applyToBytes(Buffer.from('sk-learned-key')).toString()).toBe('[secret]');
  });

  it('masks the key of a model for its own tenant alone, and for work that is bound to none', () => {
    inTenant('300001', () => mask.learn(['function']));
    const text = 'function add() {}';
    const masked = '[secret] add() {}';
    const shown = (): string[] => {
      const pieces = mask.pieces();
      return [
        mask.apply(text),
        mask.applyIn({ text }).text,
        mask.applyToBytes(Buffer.from(text)).toString(),
        mask.applyToBeginning(text),
        mask.applyToEnd(text),
        pieces.add(text) + pieces.end(),
      ];
    };
    for (const one of inTenant('300002', shown)) expect(one).toBe(text);
    for (const one of inTenant('300001', shown)) expect(one).toBe(masked);
    for (const one of acrossTenants('A test.', shown)) expect(one).toBe(masked);
    for (const one of shown()) expect(one).toBe(masked);
  });

  it('masks what is written in JSON, and every text of a value', () => {
    mask.learn(['a "quoted" key']);
    const written = JSON.stringify({ command: 'echo a "quoted" key' });
    expect(mask.apply(written)).toBe('{"command":"echo [secret]"}');
    const value = { name: 1, list: ['a', { text: `x${ADMIN_PASSWORD}` }], none: null };
    expect(mask.applyIn(value)).toEqual({
      name: 1,
      list: ['a', { text: 'x[secret]' }],
      none: null,
    });
  });

  it('masks as many keys as it remembers, in all their forms', () => {
    const keys = Array.from({ length: 1_000 }, (_, at) => `key-${at}-of-a-service`);
    mask.learn(keys);
    const forms = [keys[0] ?? '', Buffer.from(keys[0] ?? '').toString('base64')];
    expect(mask.apply(forms.join(' '))).toBe('[secret] [secret]');
  });

  it('masks a text that comes in pieces as if it came whole', () => {
    mask.learn(['abababab', 'abababcd', 'babababa-long']);
    const text = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'cd', 'abababab', 'abababcd', 'baba-long', ' '))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 9 })), (whole, sizes) => {
        const pieces = mask.pieces();
        let [shown, at] = ['', 0];
        for (const size of sizes) {
          shown += pieces.add(whole.slice(at, at + size));
          at += size;
        }
        shown += pieces.add(whole.slice(at)) + pieces.end();
        expect(shown).toBe(mask.apply(whole));
      }),
    );
    const pieces = mask.pieces();
    // Nothing is held back that cannot be a secret.
    expect(pieces.add('words an')).toBe('words an');
    expect([pieces.add('x ab'), pieces.add('abab'), pieces.add('ab!')]).toEqual([
      'x ',
      '',
      '[secret]!',
    ]);
  });

  it('leaves no part of a secret at the end of a beginning, nor at the beginning of an end', () => {
    const secrets = ['one-secret', 'two-secrets'];
    mask.learn(secrets);
    const text = fc.array(fc.constantFrom('a', 'one', 'secrets', 's', 't', ...secrets));
    fc.assert(
      fc.property(text, fc.nat({ max: 99 }), (parts, at) => {
        const whole = parts.join('');
        const masked = mask.apply(whole);
        expect(masked.startsWith(mask.applyToBeginning(whole.slice(0, at)))).toBe(true);
        expect(masked.endsWith(mask.applyToEnd(whole.slice(at)))).toBe(true);
      }),
    );
    expect(mask.applyToBeginning('one-secret and on')).toBe('[secret] and ');
    expect(mask.applyToEnd('crets and one-secret')).toBe(' and [secret]');
    // Both begin and end with what may be a part and is none.
    expect(mask.applyToBeginning('t one')).toBe('t ');
    expect(mask.applyToEnd('t one')).toBe(' one');
  });

  it('leaves bytes that are no text as they are', () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0x00, 0xfe]),
      Buffer.from(SECRET_KEY),
      Buffer.from([0x80]),
    ]);
    const masked = mask.applyToBytes(bytes);

    expect(masked).toEqual(
      Buffer.concat([
        Buffer.from([0xff, 0x00, 0xfe]),
        Buffer.from('[secret]'),
        Buffer.from([0x80]),
      ]),
    );
  });
});
