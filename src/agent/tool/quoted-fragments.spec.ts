import { describe, expect, it } from '@jest/globals';
import { estimatingCounter, tokenCounter } from '../../model/index.js';
import { Neighbourhood } from '../../retrieval/index.js';
import { quoteFragments } from './quoted-fragments.js';
import type { QuotedFragments, QuoteOptions, QuoteRoom } from './quoted-fragments.js';
import { TurnSources } from './sources.js';

const fragment = (content: string, idx = 4, fid = `${idx} ${content.slice(0, 20)}`) => ({
  fid,
  docId: 'doc',
  knowledgeId: 1,
  attachmentId: 1,
  idx,
  content,
  page: 2,
  headings: null,
  location: null,
  sourceName: 'terms.pdf',
  score: 1,
});
type Found = ReturnType<typeof fragment>;

const room: QuoteRoom = { pieces: 20, characters: 24_000, tokens: 6_000 };
const counter = estimatingCounter;

function quote(
  ranked: readonly Found[],
  limits: Partial<QuoteRoom> = {},
  options: Partial<QuoteOptions<Found>> = {},
  turn = new TurnSources(),
): QuotedFragments<Found> {
  return quoteFragments(ranked, turn, { ...room, ...limits }, { counter, ...options });
}

const joined = ({ texts }: QuotedFragments<Found>): string => texts.join('\n\n');
const words = (count: number): string => 'laptop warranty '.repeat(count / 2).trim();

describe('the fragments for a model', () => {
  it('are quoted with their number in the turn and their place in the document', () => {
    const turn = new TurnSources();
    turn.add(fragment('before'));
    const facts = ({ docId, idx }: Found) => ({ docId, index: idx });
    const { texts } = quote([fragment('text'), fragment('before')], {}, { facts }, turn);
    expect(texts).toEqual([
      '<fragment number="2" document="terms.pdf" docId="doc" index="4" page="2">\ntext\n</fragment>',
      '<fragment number="1" document="terms.pdf" docId="doc" index="4" page="2">\nbefore\n</fragment>',
    ]);
  });

  it.each(['gpt-4o', 'gpt-4', 'another model'])(
    'keep within tokens and characters for %s, with their tags and the names of documents',
    async (model) => {
      const exact = await tokenCounter(model);
      const found = Array.from({ length: 30 }, (_, at) => ({
        ...fragment(`${at} text`, at),
        sourceName: `${'a very long name of a document '.repeat(6)}${at}.pdf`,
      }));
      for (const limits of [{ tokens: 900 }, { characters: 2_000 }]) {
        const quoted = quote(found, limits, { counter: exact });
        expect(exact.count(joined(quoted))).toBeLessThanOrEqual(limits.tokens ?? Infinity);
        expect(joined(quoted).length).toBeLessThanOrEqual(limits.characters ?? Infinity);
        expect(quoted.sources.length).toBeGreaterThan(2);
        expect(quoted.sources.length + quoted.leftOut.length).toBe(30);
      }
    },
  );

  it('name those that are left out, and why', () => {
    const found = [fragment('a'), fragment(words(2_000), 5), fragment('b', 6), fragment('c', 7)];
    const quoted = quote(found, { pieces: 2, tokens: 500 });
    expect(quoted.sources.map(({ content }) => content)).toEqual(['a', 'b']);
    expect(quoted.leftOut.map(({ fragment: { idx }, reason }) => [idx, reason])).toEqual([
      [5, 'room'],
      [7, 'pieces'],
    ]);
  });

  it.each(['laptop warranty ', '</fragment> <|im_start|> ', '𠮷 ', '知识库', 'x'])(
    'have the beginning of the best one, where it is too long, of many %j',
    (text) => {
      const long = fragment(text.repeat(4_000));
      const quoted = quote([long], { tokens: 1_000, characters: 8_000 });
      const [source] = quoted.sources;
      expect(source?.cutFrom).toBe(long.content.length);
      expect(long.content.startsWith(source?.content ?? '-')).toBe(true);
      expect(quoted.texts[0]).toContain(' cut="true" page="2">');
      expect(counter.count(joined(quoted))).toBeLessThanOrEqual(1_000);
      const fills = counter.count(joined(quoted)) > 850 || joined(quoted).length > 7_000;
      expect(fills).toBe(true);
      expect(quoted.texts[0]?.isWellFormed()).toBe(true);
      expect(quoted.leftOut).toEqual([]);
    },
  );

  it('have whole words at the end of a cut one', () => {
    const [source] = quote([fragment(words(4_000))], { tokens: 500 }).sources;
    expect(source?.content).toMatch(/(laptop|warranty)$/);
  });

  it('share the room between the best one that is cut and those behind it', () => {
    const found = [fragment(words(8_000)), fragment(words(100), 5), fragment(words(4_000), 6)];
    const quoted = quote(found, { tokens: 2_000 });
    expect(quoted.sources.map(({ cutFrom }) => cutFrom !== undefined)).toEqual([true, false]);
    expect(counter.count(quoted.texts[0] ?? '')).toBeGreaterThan(1_000);
    expect(counter.count(joined(quoted))).toBeGreaterThan(1_850);
    expect(quoted.leftOut.map(({ fragment: { idx } }) => idx)).toEqual([6]);
  });

  it('end before the first that does not fit, when they are read in order', () => {
    const found = [fragment('a', 0), fragment(words(2_000), 1), fragment('b', 2)];
    const { sources, leftOut } = quote(found, { tokens: 300 }, { isOrdered: true });
    expect(sources.map(({ content }) => content)).toEqual(['a']);
    expect(leftOut).toHaveLength(2);
    const reversed = [...found].reverse().slice(1);
    expect(quote(reversed, { tokens: 300 }, { isOrdered: true }).sources).toHaveLength(1);
  });

  it('are none without room, or in a turn that has as many as it can have', () => {
    expect(quote([fragment('text')], { tokens: 5 })).toMatchObject({ texts: [], sources: [] });
    expect(quote([fragment('text')], { tokens: -50 }).leftOut).toHaveLength(1);
    const full = new TurnSources();
    for (let at = 0; at < 500; at += 1) full.add(fragment('text', at));
    const quoted = quote([fragment('new'), fragment('text', 7)], {}, {}, full);
    expect(quoted.sources.map(({ number }) => number)).toEqual([8]);
    expect(quoted.leftOut).toHaveLength(1);
  });
});

describe('neighbours', () => {
  const rows = Array.from({ length: 12 }, (_, idx) => ({
    attachmentId: 1,
    fid: `f${idx}`,
    idx,
    content: `Paragraph ${idx}. ${words(10)}.`,
    headings: null,
    charStart: null,
    charEnd: null,
    edited: false,
  }));
  const hits = [6, 3, 5].map((idx) => fragment(rows[idx]?.content ?? '', idx, `f${idx}`));
  const neighboursOf = (neighbourCharacters: number): Neighbourhood => {
    const settings = { neighbours: 'adjacent', textBlockSize: 100, neighbourCharacters } as const;
    return new Neighbourhood([{ knowledge: settings, fragments: hits }], rows);
  };

  it('are sent with a hit, each once, while the source is the hit itself', () => {
    const quoted = quote(hits, {}, { neighbours: neighboursOf(250) });
    const shown = joined(quoted).match(/Paragraph \d+/g);
    expect(shown).toEqual([6, 7, 8, 2, 3, 4, 5].map((idx) => `Paragraph ${idx}`));
    expect(quoted.sources.map(({ fid }) => fid)).toEqual(['f6', 'f3', 'f5']);
    expect(quoted.sources.map(({ content }) => content)).toEqual(hits.map((one) => one.content));
    expect(quoted.sources.map(({ firstIndex, lastIndex }) => [firstIndex, lastIndex])).toEqual([
      [6, 8],
      [2, 4],
      [undefined, undefined],
    ]);
  });

  it('never displace a hit, and get the room that is left', () => {
    const alone = quote(hits);
    const taken = counter.count(joined(alone)) + 30;
    const narrow = quote(hits, { tokens: taken }, { neighbours: neighboursOf(2_000) });
    expect(narrow.sources).toHaveLength(3);
    const wider = quote(hits, { tokens: taken + 60 }, { neighbours: neighboursOf(500) });
    expect(joined(wider).match(/Paragraph/g)?.length).toBeGreaterThan(3);
    expect(counter.count(joined(wider))).toBeLessThanOrEqual(taken + 60);
  });
});
