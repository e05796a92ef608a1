import { clipped, counted, ShownLines, SHOWN_BYTES } from './shown-text.js';

const LINE_CHARACTERS = 2_000;

/** Some lines of a text, numbered, with a remark that says what is missing. */
export interface TextPage {
  readonly content: string;
  /** Lines that it holds. */
  readonly lines: number;
  /** Lines of the whole text. */
  readonly total: number;
  readonly isCut: boolean;
}

export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
  /** Masks a line before it is cut: afterwards half of a secret would not be known for one. */
  readonly masked: (line: string) => string;
}

/** Undefined when the text has fewer lines. An empty text has one page without lines. */
export function textPage(text: string, { offset, limit, masked }: PageQuery): TextPage | undefined {
  const all = linesOf(text);
  const total = all.length;
  if (total === 0 && offset === 1) {
    return { content: '[The file is empty.]', lines: 0, total, isCut: false };
  }
  if (offset > total) return undefined;
  const shown = new ShownLines(SHOWN_BYTES);
  let last = offset - 1;
  for (const line of all.slice(offset - 1, offset - 1 + limit)) {
    // Of carriage returns at its end an editing tool takes care itself.
    const text = clipped(masked(line.replace(/\r$/, '')), LINE_CHARACTERS);
    if (!shown.add(`${last + 1}\t${text}`)) break;
    last += 1;
  }
  const lines = last - offset + 1;
  const remark =
    last < total
      ? `[Lines ${offset} to ${last} of ${total}. Go on with offset=${last + 1}.]`
      : `[End of the file, ${counted(total, 'line')}.]`;
  return { content: shown.text(remark), lines, total, isCut: last < total };
}

/** What follows the last line break is a line only if there is something. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
