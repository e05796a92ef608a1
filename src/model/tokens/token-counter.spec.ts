import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { modelToEncodingMap } from 'gpt-tokenizer/mapping';
import { SAMPLES } from '../../../test/support/token-samples.js';
import { tokensByScript } from './estimate.js';
import { longestBeginning } from './fitting.js';
import { estimatingCounter, tokenCounter, vocabularyOf } from './token-counter.js';

const asData = { disallowedSpecial: new Set<string>() };

const root = new URL('../../../', import.meta.url);
const file = (path: string): string => readFileSync(new URL(path, root), 'utf8').slice(0, 30_000);
const noise = Array.from({ length: 3_000 }, (_, at) => (at * 7_919 + at * at * 31) % 256);
const rows = Array.from({ length: 200 }, (_, id) => ({ id, name: `user ${id}`, values: [id * 3] }));

const TEXTS: Readonly<Record<string, string>> = {
  ...SAMPLES,
  'every language at once': Object.values(SAMPLES).join('\n'),
  Markdown: file('docs/ARCHITECTURE.md'),
  tables: file('docs/CONFIGURATION.md'),
  TypeScript: file('src/chat/chat.turn.ts'),
  SQL: file('src/platform/database/migrations/20261127-knowledge.ts'),
  JSON: JSON.stringify(rows, null, 2),
  'dense JSON': JSON.stringify(rows),
  'a lock file': file('package-lock.json'),
  CSV: rows.map(({ id }) => `${id},${(id * 37.13).toFixed(2)},2024-0${(id % 9) + 1}-11`).join('\n'),
  base64: Buffer.from(noise).toString('base64'),
  hexadecimal: Buffer.from(noise).toString('hex'),
  capitals: SAMPLES['English']?.toUpperCase() ?? '',
};

/** What a tokenizer counts without the cuts that keep it fast. */
function counted(count: typeof o200k, text: string): number {
  return count(text, asData);
}

describe('the estimate by script', () => {
  it.each(Object.entries(TEXTS))(
    'is at least what both vocabularies count, and at most 1.6 times as much: %s',
    (_, text) => {
      const most = Math.max(counted(o200k, text), counted(cl100k, text));
      expect(tokensByScript(text)).toBeGreaterThanOrEqual(most);
      expect(tokensByScript(text)).toBeLessThanOrEqual(1.6 * most + 1);
    },
  );

  it('is 0 for nothing, and counts every code unit of lone surrogates', () => {
    expect(tokensByScript('')).toBe(0);
    expect(tokensByScript('\ud800\udfff\ud800')).toBeGreaterThanOrEqual(3);
  });
});

describe('the counter of a model', () => {
  it.each([
    ['gpt-4o-mini', o200k],
    ['gpt-4-turbo', cl100k],
  ] as const)('counts exactly for %s', async (model, count) => {
    const counter = await tokenCounter(model);
    expect(counter.isExact).toBe(true);
    for (const text of Object.values(TEXTS)) {
      // A long run of letters or digits is cut, which can add a token each.
      const exact = counted(count, text);
      expect(counter.count(text)).toBeGreaterThanOrEqual(exact);
      expect(counter.count(text)).toBeLessThanOrEqual(Math.ceil(exact * 1.001));
    }
  });

  it('takes control tokens for text', async () => {
    const text = '<|endoftext|><|im_start|>';
    for (const model of ['gpt-4o', 'gpt-4', 'other']) {
      expect((await tokenCounter(model)).count(text)).toBeGreaterThan(6);
    }
  });

  // Without cuts the time grows with the square of these texts, and each would take minutes.
  it.each(['=', 'a', '知', ' ', '\n', '🎉'])('is fast for many %j', async (text) => {
    const counter = await tokenCounter('gpt-4o');
    expect(counter.count(text.repeat(100_000))).toBeGreaterThan(500);
  });

  it('is an estimate for models whose vocabulary is not known', async () => {
    for (const name of ['deepseek-chat', 'qwen-max', 'claude-sonnet-4-5', 'llama3', 'my-gpt-4o']) {
      expect(await tokenCounter(name)).toBe(estimatingCounter);
    }
  });

  it('knows the models of the library, and names of gateways and fine-tuned models', () => {
    expect(vocabularyOf('openai/gpt-4o:extended')).toBe('o200k_base');
    expect(vocabularyOf('ft:gpt-4o-mini-2024-07-18:acme::id')).toBe('o200k_base');
    expect(vocabularyOf('GPT-4')).toBe('cl100k_base');
    expect(vocabularyOf('gpt-6-preview')).toBe('o200k_base');
    const known = Object.entries(modelToEncodingMap).filter(([name]) => /^gpt-[^2]/.test(name));
    expect(known.length).toBeGreaterThan(15);
    for (const [name, encoding] of known) {
      // The two vocabularies differ in control tokens alone.
      const vocabulary = encoding.replace('o200k_harmony', 'o200k_base');
      expect([name, vocabularyOf(name)]).toEqual([name, vocabulary]);
    }
  });
});

describe('the longest beginning', () => {
  it('fits, is nearly as long as it can be, and ends with a word', () => {
    const text = TEXTS['Markdown'] ?? '';
    const room = { characters: 100_000, tokens: 500 };
    const beginning = longestBeginning(text, room, estimatingCounter);
    expect(text.startsWith(beginning)).toBe(true);
    expect(estimatingCounter.count(beginning)).toBeLessThanOrEqual(500);
    expect(estimatingCounter.count(beginning)).toBeGreaterThan(470);
    expect(text[beginning.length]).toMatch(/\s/);
  });

  it('counts what is written of it, and never halves a character', () => {
    const room = { characters: 100, tokens: 1_000 };
    const written = (part: string): string => `<a>${part.replaceAll('&', '&amp;')}</a>`;
    const escaped = longestBeginning('&'.repeat(200), room, estimatingCounter, written);
    expect(written(escaped).length).toBeGreaterThan(90);
    expect(written(escaped).length).toBeLessThanOrEqual(100);
    const emoji = longestBeginning(
      '🎉'.repeat(80),
      { characters: 33, tokens: 99 },
      estimatingCounter,
    );
    expect(emoji).toBe('🎉'.repeat(16));
    expect(longestBeginning('text', { characters: 0, tokens: 9 }, estimatingCounter)).toBe('');
    expect(longestBeginning('text', { characters: 9, tokens: 9 }, estimatingCounter)).toBe('text');
  });
});
