import { describe, expect, it } from '@jest/globals';
import { msg } from '../../platform/message/index.js';
import { KeyFilter } from './key-filter.js';
import { UpstreamError } from './upstream.error.js';

const credential = 'sk-proj-Ab12"Cd34/Ef56+Gh78';
const secrets = { credential, address: 'https://models.example.com/v1' };

function filter(): KeyFilter {
  const made = KeyFilter.of(secrets);
  if (made === undefined) throw new Error('There is no filter.');
  return made;
}

describe('the key of a call', () => {
  it('is removed in every form, and nothing else is', () => {
    const forms = [
      credential,
      encodeURIComponent(credential),
      Buffer.from(credential).toString('base64'),
      Buffer.from(credential).toString('base64url'),
      JSON.stringify(credential).slice(1, -1),
      Buffer.from(credential).toString('hex'),
      Buffer.from(credential).toString('hex').toUpperCase(),
      Buffer.from(credential).toString('hex').replaceAll(/../g, '%$&'),
      Buffer.from(credential).toString('hex').toUpperCase().replaceAll(/../g, '%$&'),
    ];
    for (const form of forms) {
      expect(filter().text(msg`a ${form} b ${form}`)).toMatch(/^a \[removed\]=* b \[removed\]=*$/);
    }
    const other = msg`sk-proj-other, https://models.example.com/v1 and 9f8e7d6c5b4a39281706f5e4d3c2b1a0`;
    expect(filter().text(other)).toBe(other);
  });

  it('is removed at any depth of JSON, from names too, while the rest stays', () => {
    const own = Object.fromEntries([[credential, 1]]);
    const value = { a: [1, null, credential, { b: `x${credential}` }], c: own, d: false, e: 'f' };
    expect(filter().json(value)).toEqual({
      a: [1, null, '[removed]', { b: 'x[removed]' }],
      c: { '[removed]': 1 },
      d: false,
      e: 'f',
    });
    expect(filter().json(credential)).toBe('[removed]');
    expect(filter().json(null)).toBeNull();
  });

  it('is removed from JSON that is too deep for a recursion', () => {
    const depth = 100_000;
    const deep: unknown = JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
    expect(filter().json(deep)).toBe(deep);
  });

  it('is removed from the message of an error, which keeps its kind', () => {
    const error = new UpstreamError({
      kind: 'content',
      message: msg`Tool ${credential}`,
      status: 200,
    });
    const clean = filter().error(error);
    expect(clean).toMatchObject({ kind: 'content', status: 200, message: 'Tool [removed]' });
    const other = new UpstreamError({ kind: 'content', message: msg`Tool` });
    expect(filter().error(other)).toBe(other);
  });

  it('is removed wherever a text is cut into two', () => {
    const text = `one ${credential}${credential} two ${credential.slice(0, 7)} three`;
    for (let cut = 0; cut <= text.length; cut += 1) {
      const pieces = filter().pieces();
      const shown = [pieces.add(text.slice(0, cut)), pieces.add(text.slice(cut)), pieces.end()];
      expect(shown.join('')).toBe(`one [removed][removed] two ${credential.slice(0, 7)} three`);
    }
  });

  it('is not looked for where there is none, or a placeholder', () => {
    const { address } = secrets;
    expect(KeyFilter.of({ address })).toBeUndefined();
    for (const placeholder of ['', 'ollama']) {
      expect(KeyFilter.of({ address, credential: placeholder })).toBeUndefined();
    }
  });
});
