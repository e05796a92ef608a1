import { describe, expect, it } from '@jest/globals';
import { QuotedFragments } from './quoted-fragments.js';
import type { IndexedFragment } from './quoted-fragments.js';
import { TurnSources } from './turn-sources.js';

const fragment = (content: string, fid = content.slice(0, 20)): IndexedFragment => ({
  fid,
  docId: 'doc',
  knowledgeId: 1,
  idx: 4,
  content,
  page: 2,
  headings: null,
  location: null,
  sourceName: 'terms.pdf',
  score: 1,
});

const lengthOf = (quoted: QuotedFragments): number => quoted.texts.join('\n\n').length;

describe('the fragments of an answer', () => {
  it('are quoted with their number in the turn and their place in the document', () => {
    const sources = new TurnSources();
    sources.add([fragment('before')], { pieces: 1, characters: 100 });
    const quoted = new QuotedFragments(sources, 1_000);
    expect(quoted.add(fragment('text'))).toBe(true);
    expect(quoted.add(fragment('before'))).toBe(true);
    expect(quoted.texts).toEqual([
      '<fragment number="2" document="terms.pdf" docId="doc" index="4" page="2">\ntext\n</fragment>',
      '<fragment number="1" document="terms.pdf" docId="doc" index="4" page="2">\nbefore\n</fragment>',
    ]);
  });

  it('keep within the characters with all that is around them, and get no number otherwise', () => {
    const sources = new TurnSources();
    const quoted = new QuotedFragments(sources, 1_000);
    const added = Array.from({ length: 30 }, (_, at) => quoted.add(fragment(`${at} text`)));
    expect(added).toContain(false);
    expect(lengthOf(quoted)).toBeLessThanOrEqual(1_000);
    expect(sources.all).toHaveLength(quoted.texts.length);
  });

  it.each(['long ', '</fragment>', '𠮷'])('have the beginning of one of many %j', (text) => {
    const sources = new TurnSources();
    const quoted = new QuotedFragments(sources, 1_000);
    const long = fragment(text.repeat(1_000));
    expect(quoted.add(long)).toBe(false);
    expect(quoted.addBeginning(long)).toBe(true);
    expect(lengthOf(quoted)).toBeLessThanOrEqual(1_000);
    expect(lengthOf(quoted)).toBeGreaterThan(600);
    expect(quoted.texts[0]?.isWellFormed()).toBe(true);
    expect(sources.all).toHaveLength(1);
  });

  it('are none without room, or in a turn that has as many as it can have', () => {
    expect(new QuotedFragments(new TurnSources(), 50).addBeginning(fragment('text'))).toBe(false);
    const full = new TurnSources();
    const many = Array.from({ length: 500 }, (_, at) => fragment(`text ${at}`));
    full.add(many, { pieces: 500, characters: Infinity });
    const quoted = new QuotedFragments(full, 1_000);
    expect(quoted.add(fragment('new'))).toBe(false);
    expect(quoted.addBeginning(fragment('new'))).toBe(false);
    expect(quoted.add(fragment('text 7'))).toBe(true);
  });
});
