import { describe, expect, it } from '@jest/globals';
import { split } from '../fragment/splitter/index.js';
import type { NeighbourFragment } from './retrieval.repository.js';
import { joined, Neighbourhood } from './neighbours.js';
import type { NeighbourSettings } from './neighbours.js';

const SENTENCES = Array.from({ length: 60 }, (_, at) => `Sentence ${at} of the text is here.`);

function fragmentsOf(
  text: string,
  textBlockSize: number,
  overlapChar: number,
): NeighbourFragment[] {
  const drafts = split({ kind: 'markdown', text }, { textBlockSize, overlapChar, separator: '' });
  return drafts.map(({ content, start, end, headings }, idx) => ({
    attachmentId: 1,
    fid: `f${idx}`,
    idx,
    content,
    headings: headings.length === 0 ? null : headings.join(' > '),
    charStart: start,
    charEnd: end,
    edited: false,
  }));
}

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function neighboursOf(
  rows: readonly NeighbourFragment[],
  hits: readonly number[],
  over: Partial<NeighbourSettings> = {},
): Neighbourhood {
  const knowledge: NeighbourSettings = {
    neighbours: 'adjacent',
    neighbourCharacters: 500,
    textBlockSize: 200,
    ...over,
  };
  const fragments = hits.map((idx) => ({ fid: `f${idx}`, attachmentId: 1, idx }));
  return new Neighbourhood([{ knowledge, fragments }], rows);
}

describe('joined fragments', () => {
  it.each([
    ['prose', SENTENCES.join(' ')],
    ['paragraphs', SENTENCES.join('\n\n')],
    ['lines', SENTENCES.join('\n')],
    ['Chinese', '知识库检索的答案必须完整。'.repeat(80)],
    ['one word', 'x'.repeat(2_000)],
  ])('are the text again, without what they repeat: %s', (_, text) => {
    for (const overlap of [0, 40, 90]) {
      const fragments = fragmentsOf(text, 200, overlap);
      expect(fragments.length).toBeGreaterThan(5);
      expect(flat(joined(fragments))).toBe(flat(text));
    }
  });

  it('have the header of a table once', () => {
    const rows = Array.from({ length: 40 }, (_, at) => `| part ${at} | ${at} |`);
    const table = ['| Name | Price |', '| --- | --- |', ...rows].join('\n');
    const fragments = fragmentsOf(table, 200, 0);
    expect(fragments.length).toBeGreaterThan(3);
    expect(joined(fragments)).toBe(table);
  });

  it('are compared by their texts where one was edited', () => {
    const [first, second] = fragmentsOf(SENTENCES.join(' '), 200, 60);
    if (!first || !second) throw new Error('There are no fragments.');
    const edited = { ...second, content: `${second.content} And more.`, edited: true };
    const text = joined([first, edited]);
    expect(text.match(/Sentence \d+/g)).toEqual([...new Set(text.match(/Sentence \d+/g))]);
    expect(text).toContain('And more.');
    const other = { ...second, content: 'Something else.', edited: true };
    expect(joined([first, other])).toBe(`${first.content}\nSomething else.`);
  });
});

describe('the neighbours of a hit', () => {
  const rows = fragmentsOf(SENTENCES.join(' '), 200, 40);

  it('are those before and after it, up to the characters that the base allows', () => {
    const around = neighboursOf(rows, [4]).around('f4');
    expect([around?.firstIndex, around?.lastIndex]).toEqual([3, 5]);
    expect(flat(SENTENCES.join(' '))).toContain(flat(around?.content ?? '-'));
    const half = neighboursOf(rows, [4]).around('f4', 0.5);
    expect([half?.firstIndex, half?.lastIndex]).toEqual([4, 5]);
    expect(neighboursOf(rows, [4], { neighbourCharacters: 50 }).around('f4')).toBeUndefined();
    expect(neighboursOf(rows, [4], { neighbours: 'none' }).around('f4')).toBeUndefined();
  });

  it('end at the edges of the document, at gaps, and at what is shown already', () => {
    const wide = { neighbourCharacters: 100_000 };
    const all = neighboursOf(rows, [0], wide).around('f0');
    expect([all?.firstIndex, all?.lastIndex]).toEqual([0, rows.length - 1]);
    const gap = neighboursOf(
      rows.filter(({ idx }) => idx !== 6),
      [4],
      wide,
    ).around('f4');
    expect([gap?.firstIndex, gap?.lastIndex]).toEqual([0, 5]);
    const neighbours = neighboursOf(rows, [2, 5], wide);
    neighbours.reserve(['f2', 'f5']);
    const first = neighbours.around('f2');
    expect([first?.firstIndex, first?.lastIndex]).toEqual([0, 4]);
    if (first) neighbours.take(first);
    const second = neighbours.around('f5');
    expect([second?.firstIndex, second?.lastIndex]).toEqual([5, rows.length - 1]);
  });

  it('are those of its section, and of the sections below it, with `section`', () => {
    const text = ['# A', 'one', '## B', 'two', '### C', 'three', '## D', 'four', '# E', 'five']
      .map((line) => (line.startsWith('#') ? line : `${line} ${'word '.repeat(12)}`.trim()))
      .join('\n\n');
    const sections = fragmentsOf(text, 90, 0);
    const at = sections.findIndex(({ content }) => content.includes('two'));
    const settings = { neighbours: 'section', neighbourCharacters: 10_000 } as const;
    const found = neighboursOf(sections, [at], settings).around(`f${at}`);
    expect(found?.content).toContain('three');
    expect(found?.content).not.toMatch(/one|four|five/);
  });
});
