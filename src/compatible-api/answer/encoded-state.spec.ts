import { describe, expect, it } from '@jest/globals';
import { decodeState, encodeState, MAX_ENCODED_STATE_CHARS } from './encoded-state.js';

const encoded = (value: unknown): string =>
  `plinth1.${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}`;

describe('encoded state', () => {
  it('comes back as it was', () => {
    const state = {
      origin: 'messages/x',
      data: { blocks: [{ signature: 'a+/=', text: 'Grüße 😀' }] },
    };
    const text = encodeState(state);
    expect(text).toMatch(/^plinth1\.[\w-]+$/);
    expect(decodeState(text)).toEqual(state);
  });

  it.each([
    ['nothing', ''],
    ['the signature of another service', 'ErUBCkYIAxgCIkDfoo=='],
    ['another version', `plinth2.${encodeState({ origin: 'o', data: {} }).slice(8)}`],
    ['no base64', 'plinth1.%%%'],
    ['no JSON', encoded('{"origin":')],
    ['no object', encoded([])],
    ['no origin', encoded({ data: {} })],
    ['an empty origin', encoded({ origin: '', data: {} })],
    ['a long origin', encoded({ origin: 'x'.repeat(1_001), data: {} })],
    ['data that is a list', encoded({ origin: 'o', data: [] })],
    ['data that is null', encoded({ origin: 'o', data: null })],
    [
      'deep data',
      encoded(`{"origin":"o","data":{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}}`),
    ],
    ['a long text', encoded({ origin: 'o', data: { text: 'x'.repeat(MAX_ENCODED_STATE_CHARS) } })],
  ])('ignores %s', (_, text) => {
    expect(decodeState(text)).toBeUndefined();
  });

  it('leaves out what is not part of a state', () => {
    expect(decodeState(encoded({ origin: 'o', data: { a: 1 }, more: true }))).toEqual({
      origin: 'o',
      data: { a: 1 },
    });
  });
});
