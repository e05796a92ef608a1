import { expect, test } from '@jest/globals';
import { rawResponseOf } from './media-result.js';

const secrets = { credential: 'canary-key-1f9a7c', address: 'https://x.test' };
const encoded = 'iVBORw0KGgo'.repeat(1_000);

test('an answer stays as it is', () => {
  const answer = { data: [{ url: 'https://x.test/a.png?sig=1' }], note: 'A cat… asleep', n: null };
  expect(JSON.parse(rawResponseOf(answer, secrets))).toEqual(answer);
});

test.each([
  ['the credential', 'key canary-key-1f9a7c'],
  ['its base64', Buffer.from('canary-key-1f9a7c').toString('base64')],
  ['its beginning', 'canary-key…'],
])('%s is removed', (_name, said) => {
  const text = rawResponseOf({ said }, secrets);
  expect(text).toContain('[removed]');
  expect(text).not.toMatch(/canary|Y2FuYXJ5/);
});

test.each([encoded, `data:image/png;base64,${encoded}`, `${encoded}\r\n${encoded}==`])(
  'embedded media are shortened (%#)',
  (medium) => {
    const raw = JSON.parse(rawResponseOf({ data: [{ b64_json: medium }] }, secrets)) as {
      data: [{ b64_json: string }];
    };
    const [{ b64_json: shown }] = raw.data;
    expect(shown).toBe(`${medium.slice(0, 64)}… (${medium.length} characters)`);
  },
);

test('a long text is kept, and an answer without end is cut', () => {
  const prompt = 'a cat in the sun, '.repeat(500);
  expect(rawResponseOf({ prompt }, secrets)).toContain(prompt);
  expect(rawResponseOf({ prompt: prompt.repeat(50) }, secrets)).toHaveLength(64 * 1024 + 1);
});
