import type { Block, Span } from './block.js';
import { isBlank } from './character.js';

interface Line {
  readonly start: number;
  /** Offset of the line feed. */
  readonly end: number;
  /** The column of its text; a tab reaches to the next multiple of four. */
  readonly indent: number;
  /** Text of the line without those blanks; only the beginning of a very long one. */
  readonly head: string;
}

/** Longer lines are never headings, fences or delimiters of tables. */
const MAX_MARK_CHARS = 1_000;

/** Indentation from which a line is code, not a heading. */
const CODE_INDENT = 4;

const TAB = 9;
const TAB_WIDTH = 4;

/**
 * Headings, fenced code, tables, and the prose between them, as CommonMark and GitHub tables define them, with these
 * simplifications: a fence may be indented at any depth (as in lists), a setext heading has one line, and a row of a
 * table contains a bar.
 */
export function markdownBlocks(text: string): Block[] {
  return new MarkdownReader(text).read();
}

class MarkdownReader {
  private readonly blocks: Block[] = [];
  /** Start of the pending prose. */
  private prose = 0;
  private position = 0;
  /** The line of prose right above; `opens` when it is the first of its paragraph. */
  private above: (Line & { readonly opens: boolean }) | undefined;

  constructor(private readonly text: string) {}

  read(): Block[] {
    this.passFrontMatter();
    while (this.position < this.text.length) {
      const line = this.next();
      if (this.take(line)) this.above = undefined;
      else this.above = { ...line, opens: this.above === undefined || this.above.head === '' };
    }
    this.endProse(this.text.length);
    return this.blocks;
  }

  /** Whether the line starts a block that is not prose; that block is then read to its end. */
  private take(line: Line): boolean {
    const { above } = this;
    const fence = /^(`{3,})[^`]*$|^(~{3,})/.exec(line.head);
    const hashes = hashesOf(line);
    if (fence) this.takeFence(line, fence[1] ?? fence[2] ?? '');
    else if (hashes > 0) this.takeHeading(line, hashes, line.head.slice(hashes));
    else if (above?.opens && isUnderlined(above, line)) {
      const level = line.head.startsWith('=') ? 1 : 2;
      this.takeHeading({ start: above.start, end: line.end }, level, above.head);
    } else if (above?.head.includes('|') && isDelimiter(line)) this.takeTable(above, line);
    else return false;
    return true;
  }

  private takeHeading({ start, end }: Span, level: number, title: string): void {
    this.add({ type: 'heading', start, end, level, title: title.replace(/\s#+\s*$/, '').trim() });
  }

  private takeFence(opening: Line, mark: string): void {
    let end = opening.end;
    while (this.position < this.text.length) {
      const line = this.next();
      end = line.end;
      if (line.head.startsWith(mark) && isMadeOf(line.head, mark.charAt(0))) break;
    }
    this.add({ type: 'lines', start: opening.start, end });
  }

  private takeTable(heads: Line, delimiter: Line): void {
    const header = { start: heads.start, end: delimiter.end };
    this.add({ type: 'header', ...header });
    while (this.position < this.text.length) {
      const start = this.position;
      const row = this.next();
      if (!row.head.includes('|') || hashesOf(row) > 0) {
        this.position = start;
        break;
      }
      this.add({ type: 'row', start: row.start, end: row.end, header });
    }
  }

  /** The lines between two of --- at the start, whose second one underlines no heading. */
  private passFrontMatter(): void {
    if (!/^---[ \t]*\n/.test(this.text.slice(0, MAX_MARK_CHARS))) return;
    const end = this.text.indexOf('\n---\n', 3);
    if (end !== -1) this.position = end + '\n---\n'.length;
  }

  private add(block: Block): void {
    this.endProse(block.start);
    this.blocks.push(block);
    this.prose = block.end;
  }

  private endProse(end: number): void {
    if (end > this.prose) this.blocks.push({ type: 'prose', start: this.prose, end });
  }

  private next(): Line {
    const start = this.position;
    const feed = this.text.indexOf('\n', start);
    const end = feed === -1 ? this.text.length : feed;
    this.position = end + 1;
    let first = start;
    let indent = 0;
    for (; first < end; first += 1) {
      const code = this.text.charCodeAt(first);
      if (!isBlank(code)) break;
      indent += code === TAB ? TAB_WIDTH - (indent % TAB_WIDTH) : 1;
    }
    const head = this.text.slice(first, Math.min(end, first + MAX_MARK_CHARS));
    return { start, end, indent, head };
  }
}

/** The level of a heading that begins with hashes; 0 for any other line. */
function hashesOf(line: Line): number {
  if (line.indent >= CODE_INDENT) return 0;
  return /^(#{1,6})(?:\s|$)/.exec(line.head)?.[1]?.length ?? 0;
}

/** Whether the lower line underlines the upper one and makes it a heading. */
function isUnderlined(above: Line, below: Line): boolean {
  if (below.indent >= CODE_INDENT || above.indent >= CODE_INDENT) return false;
  if (!isMadeOf(below.head, '=') && !isMadeOf(below.head, '-')) return false;
  return above.head !== '' && !/^(?:[-+*>|<]|\d+[.)]\s)/.test(above.head);
}

function isDelimiter(line: Line): boolean {
  return /^[|:\- \t]+$/.test(line.head) && line.head.includes('-') && line.head.includes('|');
}

function isMadeOf(head: string, character: string): boolean {
  const bare = head.trimEnd();
  return bare !== '' && bare === character.repeat(bare.length);
}
