import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { split } from './index.js';
import type { FragmentDraft, SourceBlock, SourceDocument, SplitSettings } from './index.js';

const word = fc.oneof(
  fc.constantFrom('the', 'Cat', 'sat.', 'Why?', 'e.g.', '3.', '"Yes!"', 'https://a.example/b?c=d'),
  fc.constantFrom('知识库', '检索。', '日本語、', 'かな', 'ภาษาไทย', '한국어', 'नमस्ते'),
  fc.constantFrom('👩‍👩‍👧‍👦', '🇩🇪🇫🇷', 'é', '𝒳𝒴', '\u00a0', 'x'.repeat(70), '长'.repeat(60)),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
);
const line = fc
  .array(fc.tuple(word, fc.constantFrom(' ', '', '  ')), { maxLength: 12 })
  .map((words) => words.flat().join('').replaceAll('\r', ''));
const lead = fc.constantFrom(
  ...['', '', '', '# ', '## ', '### ', '- ', '    ', '```', '| a | b |\n|---|---|\n| c', '| '],
  ...['def f():', '}', '{"a": [', '], "b": ', ',', '---', '', '\n', 'Q: ', '%%'],
);
const lines = fc
  .array(fc.tuple(lead, line), { maxLength: 40 })
  .map((all) => all.map((parts) => parts.join('')).join('\n'));
const json = fc.tuple(fc.json({ maxDepth: 4 }), fc.boolean()).map(([text, wide]) => {
  return wide ? JSON.stringify(JSON.parse(text) as unknown, undefined, 2) : text;
});

const ofText: fc.Arbitrary<SourceDocument> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('text' as const, 'markdown' as const, 'code' as const, 'json' as const),
    text: lines,
  }),
  fc.record({ kind: fc.constant('json' as const), text: json }),
);

const types = [
  'heading',
  'paragraph',
  'table-header',
  'table-row',
  'table-row',
  'left out',
] as const;
const ofBlocks: fc.Arbitrary<SourceDocument> = fc
  .array(
    fc.record({
      type: fc.constantFrom(...types),
      text: line,
      level: fc.integer({ min: 1, max: 4 }),
      sheet: fc.constantFrom(undefined, 'Sheet1', 'Second sheet'),
      gap: fc.constantFrom('\n', '\n\n', ' '),
    }),
    { maxLength: 40 },
  )
  .chain((parts) => {
    let text = '';
    const blocks: SourceBlock[] = [];
    for (const [index, part] of parts.entries()) {
      const start = text.length;
      text += part.text;
      const end = text.length;
      text += part.gap;
      const cells = { start, end, row: index + 1, columns: 3 };
      const sheet = part.sheet === undefined ? {} : { sheet: part.sheet };
      if (part.type === 'heading') blocks.push({ type: part.type, start, end, level: part.level });
      else if (part.type === 'paragraph') blocks.push({ type: part.type, start, end });
      else if (part.type !== 'left out') blocks.push({ type: part.type, ...cells, ...sheet });
    }
    const kind = fc.constantFrom('table' as const, 'document' as const);
    return fc.record({ kind, text: fc.constant(text), blocks: fc.constant(blocks) });
  });

const document = fc.oneof(ofText, ofBlocks);
const settings: fc.Arbitrary<SplitSettings> = fc
  .record({
    textBlockSize: fc.oneof(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 41, max: 600 })),
    share: fc.double({ min: 0, max: 0.999, noNaN: true }),
    separator: fc.constantFrom('', '\\n', '\\n\\n', ' ', 'Q: ', '%%', '。', '# ', '---\\n', 'a'),
  })
  .map(({ textBlockSize, share, separator }) => ({
    textBlockSize,
    overlapChar: Math.floor(textBlockSize * share),
    separator,
  }));

/** Runs a property on the fragments of any document with any settings. */
function holds(
  check: (fragments: FragmentDraft[], input: SourceDocument, by: SplitSettings) => void,
): void {
  fc.assert(
    fc.property(document, settings, (input, by) => {
      check(split(input, by), input, by);
    }),
    { numRuns: 300 },
  );
}

describe('split, of any document with any settings', () => {
  it('keeps every fragment within the size, never empty, and well-formed', () => {
    holds((fragments, _, { textBlockSize }) => {
      for (const { content } of fragments) {
        expect(content.length).toBeLessThanOrEqual(textBlockSize);
        expect(content.trim()).not.toBe('');
        expect(content.isWellFormed()).toBe(true);
        expect(content).toBe(content.trimEnd());
        expect(content).not.toMatch(/^[^\S\n]*\n/);
      }
    });
  });

  it('leaves out nothing but blanks', () => {
    holds((fragments, { text }) => {
      let covered = 0;
      for (const { start, end } of fragments) {
        expect(text.slice(covered, start).trim()).toBe('');
        covered = end;
      }
      expect(text.slice(covered).trim()).toBe('');
    });
  });

  it('gives ranges that only grow and are the end of the content', () => {
    holds((fragments, { text }) => {
      let above = { start: -1, end: 0 };
      for (const { content, start, end } of fragments) {
        expect(start).toBeGreaterThan(above.start);
        expect(end).toBeGreaterThan(above.end);
        expect(text.slice(above.end, end).trim()).not.toBe('');
        expect(content.endsWith(text.slice(start, end))).toBe(true);
        above = { start, end };
      }
    });
  });

  it('repeats at most as much as asked, and never all of the fragment before', () => {
    holds((fragments, _, { overlapChar }) => {
      for (const [index, { start }] of fragments.entries()) {
        const above = fragments[index - 1];
        if (!above) continue;
        const repeated = above.end - start;
        expect(repeated).toBeLessThanOrEqual(overlapChar);
        expect(repeated).toBeLessThan(above.end - above.start);
      }
    });
  });

  it('repeats as much of prose as asked, less a word', () => {
    const longest = 12;
    const word = fc.string({
      unit: fc.constantFrom('a', 'b', 'Z'),
      minLength: 1,
      maxLength: longest,
    });
    const gap = fc.constantFrom(' ', '. ', ', ', '\n');
    const prose = fc
      .array(fc.tuple(word, gap), { minLength: 20, maxLength: 200 })
      .map((parts) => parts.flat().join(''));
    const share = fc.double({ min: 0, max: 0.9, noNaN: true });
    fc.assert(
      fc.property(prose, fc.integer({ min: 60, max: 300 }), share, (text, size, part) => {
        const overlapChar = Math.floor((size - 2 * longest) * part);
        const by = { textBlockSize: size, overlapChar, separator: '' };
        const fragments = split({ kind: 'text', text }, by);
        for (const [index, { start, end }] of fragments.entries()) {
          const next = fragments[index + 1];
          if (!next) continue;
          const asked = Math.min(overlapChar, end - start - 1);
          const tolerance = longest + Math.ceil(asked / 10) + 2;
          expect(end - next.start).toBeGreaterThanOrEqual(asked - tolerance);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('cuts and repeats no row that fits, and puts its header above it where both fit', () => {
    fc.assert(
      fc.property(ofBlocks, settings, (input, by) => {
        const fragments = split(input, by);
        for (const { row, header } of rowsOf(input)) {
          if (row.end - row.start > by.textBlockSize) continue;
          const holding = fragments.filter(({ start, end }) => start < row.end && end > row.start);
          expect(holding).toHaveLength(1);
          const [{ content, start }] = holding as [FragmentDraft];
          const above = input.text.slice(header?.start, header?.end);
          const both = above.length + 1 + row.end - row.start;
          if (!header || both > by.textBlockSize) continue;
          // A fragment that begins with the header begins where that is not blank.
          if (input.text.slice(header.start, start).trim() === '') continue;
          expect(content.startsWith(`${above}\n`)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is one fragment when it fits, apart from sheets and visible separators', () => {
    fc.assert(
      fc.property(ofText, (input) => {
        const size = Math.max(input.text.length, 1);
        const by = { textBlockSize: size, overlapChar: size - 1, separator: '\\n' };
        expect(split(input, by)).toHaveLength(input.text.trim() === '' ? 0 : 1);
      }),
      { numRuns: 300 },
    );
  });
});

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The rows that are not blank, trimmed, each with the last header that is not blank of its table. */
function rowsOf({ text, blocks }: SourceDocument): { row: Range; header: Range | undefined }[] {
  const rows: { row: Range; header: Range | undefined }[] = [];
  let header: Range | undefined;
  let above: SourceBlock | undefined;
  for (const block of blocks ?? []) {
    const slice = text.slice(block.start, block.end);
    if (slice === '') continue;
    if (text.slice(above?.end ?? 0, block.start).trim() !== '') header = above = undefined;
    const range = { start: block.start, end: block.start + slice.trimEnd().length };
    if (block.type === 'table-header') {
      const goesOn = above?.type === 'table-header' && above.sheet === block.sheet && header;
      header = { start: goesOn ? goesOn.start : block.start, end: block.end };
    } else if (block.type !== 'table-row' || isOtherSheet(above, block.sheet)) header = undefined;
    if (block.type === 'table-row' && slice.trim() !== '') rows.push({ row: range, header });
    above = block;
  }
  return rows;
}

function isOtherSheet(block: SourceBlock | undefined, sheet: string | undefined): boolean {
  if (block?.type !== 'table-row' && block?.type !== 'table-header') return true;
  return block.sheet !== sheet;
}
