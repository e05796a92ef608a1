import { TextDecoder } from 'node:util';
import { Readable } from 'node:stream';
import { hex } from 'dingbat-to-unicode';
import { Tokenize } from 'rtf-stream-parser';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { nestedTooDeeply } from './document-source.js';
import { runningLine } from './running-line.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { encodingOfCodePage } from './text/encoding-likelihood.js';
import { storable } from './text/text-encoding.js';

/** A token of RTF, as rtf-stream-parser gives it: its types are numbered in this order. */
interface Token {
  readonly type: number;
  readonly word?: string;
  readonly param?: number;
  readonly data?: Buffer;
}

const GROUP_START = 0;
const GROUP_END = 1;
const CONTROL = 2;

const CHUNK_BYTES = 64 * 1_024;

/** Groups within groups; real documents have some dozen. */
const MAX_GROUPS = 2_000;

const MAX_TABLE_DEPTH = 20;

/** Code pages by the character set of a font (RTF specification 1.9.1, font table). */
const CHARSETS: Readonly<Record<number, number>> = {
  77: 10_000,
  128: 932,
  129: 949,
  130: 1361,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

const SYMBOL_CHARSET = 2;

/** Controls that represent a character. */
const CHARACTERS: Readonly<Record<string, string>> = {
  tab: '\t',
  line: '\n',
  lbr: '\n',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
  emspace: ' ',
  enspace: ' ',
  qmspace: ' ',
  zwj: '\u200d',
  zwnj: '\u200c',
  ltrmark: '\u200e',
  rtlmark: '\u200f',
  '~': '\u00a0',
  _: '\u2011',
  '-': '\u00ad',
  '{': '{',
  '}': '}',
  '\\': '\\',
};

/** Destinations whose text is no text of the document, beside those marked with \* that are not known here. */
const SKIPPED = new Set([
  ...['colortbl', 'filetbl', 'info', 'pict', 'objdata', 'fldinst', 'nonshppict', 'shprslt'],
  ...['nonesttables', 'listpicture', 'template', 'xe', 'tc', 'txe', 'rxe', 'sp', 'annotation'],
  ...['atnid', 'atnauthor', 'atntime', 'atnref', 'mmathPict', 'revtbl', 'do', 'ftnsep'],
  ...['ftnsepc', 'ftncn', 'aftnsep', 'aftnsepc', 'aftncn', 'pgdsctbl', 'latentstyles'],
]);

/** Destinations that are marked with \* and hold text all the same. */
const KEPT = new Set(['shpinst', 'ud', 'moMath', 'nesttableprops']);

const HEADERS = new Set(['header', 'headerl', 'headerr', 'headerf']);
const FOOTERS = new Set(['footer', 'footerl', 'footerr', 'footerf']);

type Destination =
  | 'body'
  | 'skipped'
  | 'fonts'
  | 'styles'
  | 'header'
  | 'footer'
  | 'note'
  | 'box'
  | 'number';

/** Texts of their own within the text of the document. */
const INNER: ReadonlySet<Destination> = new Set<Destination>(['header', 'footer', 'note', 'box']);

/** Properties that a group inherits from the one around it. */
interface State {
  readonly destination: Destination;
  readonly font: number | undefined;
  readonly hidden: boolean;
  /** Number of fallback characters behind a Unicode character, for older programs. */
  readonly fallback: number;
}

interface Font {
  codePage: number | undefined;
  charset: number;
  name: string;
}

interface Paragraph {
  inTable: boolean;
  /** Nesting depth of the table, from 1. */
  depth: number;
  outline: number | undefined;
  style: number | undefined;
}

/**
 * Headings (by outline level or style), paragraphs, list items with their numbers, tables, text boxes and notes of rich
 * text (RTF specification 1.9.1); what its headers say at the start, and its footers at the end. No pictures and no
 * hidden or deleted text.
 */
export async function readRtf(bytes: Buffer): Promise<SourceDocument> {
  const reader = new RtfReader();
  const tokens = Readable.from(chunksOf(bytes)).pipe(new Tokenize());
  for await (const token of tokens) reader.read(token as Token);
  return reader.end();
}

/** State of a text that is saved while an inner one is read. */
interface OuterText {
  readonly content: string;
  readonly paragraph: Paragraph;
  readonly number: string;
  readonly after: Piece[];
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
  }
}

class RtfReader {
  private readonly structure = new StructureWriter(new BlockWriter());
  private readonly decoders = new Map<number, TextDecoder>();
  private readonly states: State[] = [];
  private state: State = { destination: 'body', font: undefined, hidden: false, fallback: 1 };
  private readonly fonts = new Map<number, Font>();
  private readonly headings = new Map<number, number>();
  private readonly headers = new Set<string>();
  private readonly footers = new Set<string>();
  private codePage = 1252;
  /** A group has just begun, so that the next control may name its destination. */
  private begins = false;
  private marked = false;
  private skip = 0;
  /** Bytes that are not decoded yet: a character may have several. */
  private bytes: Buffer[] = [];
  private content = '';
  /** Texts around the ones that are read: of notes, headers and text boxes. */
  private readonly outer: OuterText[] = [];
  private paragraph = newParagraph();
  private number = '';
  private definition = { font: 0, style: 0, name: '' };
  /** Tables that are open within each other. */
  private tables = 0;
  private merged: boolean[] = [];
  private nextMerged = false;
  private cell = 0;
  /** Whether a cell is open, by nesting depth of the table, from 1. */
  private readonly inCell: boolean[] = [];
  /** Notes and text boxes of the paragraph. */
  private after: Piece[] = [];
  /** Start of the list item's number in the paragraph. */
  private numberFrom = 0;

  constructor() {
    this.structure.capture();
  }

  read(token: Token): void {
    if (token.type === GROUP_START) this.open();
    else if (token.type === GROUP_END) this.close();
    else if (token.type === CONTROL) this.control(token);
    else this.addText(token.data ?? Buffer.alloc(0));
    if (token.type !== GROUP_START && token.word !== '*') this.begins = false;
  }

  end(): SourceDocument {
    this.endParagraph();
    this.endTables(0);
    const pieces = this.structure.release();
    const writer = new BlockWriter();
    const structure = new StructureWriter(writer);
    for (const line of this.headers) structure.paragraph(line);
    structure.put(pieces);
    for (const line of this.footers) if (!this.headers.has(line)) structure.paragraph(line);
    structure.end();
    return { kind: 'document', ...writer.end() };
  }

  private open(): void {
    this.flush();
    if (this.states.length >= MAX_GROUPS) throw nestedTooDeeply();
    this.states.push(this.state);
    this.begins = true;
    this.marked = false;
    this.skip = 0;
  }

  private close(): void {
    this.flush();
    const inner = this.state;
    const state = this.states.pop();
    if (!state) return;
    this.state = state;
    this.skip = 0;
    if (inner.destination !== state.destination) this.endDestination(inner.destination);
  }

  private control({ word = '', param, data }: Token): void {
    if (word === "'") {
      if (this.skip > 0) this.skip -= 1;
      else if (data) this.bytes.push(data);
      return;
    }
    if (word === '*') {
      this.marked = this.begins;
      return;
    }
    if (word === 'u') {
      this.addUnicode(param ?? 0);
      return;
    }
    this.flush();
    if (this.skip > 0 && Object.hasOwn(CHARACTERS, word)) {
      this.skip -= 1;
      return;
    }
    if (this.begins && this.startDestination(word, param)) return;
    if (this.state.destination === 'skipped') return;
    this.setState(word, param);
    if (Object.hasOwn(CHARACTERS, word)) this.append(CHARACTERS[word] ?? '');
    else if (this.state.destination === 'fonts' || this.state.destination === 'styles') {
      this.define(word, param);
    } else if (this.state.destination !== 'number') this.format(word, param);
  }

  /** Whether the control names the destination of its group. */
  private startDestination(word: string, param: number | undefined): boolean {
    const destination = this.destinationOf(word);
    if (destination === undefined) return false;
    if (this.state.destination === 'skipped') return true;
    if (INNER.has(destination)) this.beginInner();
    else if (destination === 'number') this.numberFrom = this.content.length;
    this.state = { ...this.state, destination };
    if (destination === 'fonts' || destination === 'styles') this.define(word, param);
    return true;
  }

  private destinationOf(word: string): Destination | undefined {
    if (word === 'fonttbl') return 'fonts';
    if (word === 'stylesheet') return 'styles';
    if (HEADERS.has(word)) return 'header';
    if (FOOTERS.has(word)) return 'footer';
    if (word === 'footnote') return 'note';
    if (word === 'shptxt') return 'box';
    if (word === 'listtext' || word === 'pntext') return 'number';
    if (SKIPPED.has(word)) return 'skipped';
    // Styles of characters are marked, too.
    if (!this.marked || KEPT.has(word) || this.state.destination === 'styles') return undefined;
    return 'skipped';
  }

  private beginInner(): void {
    const { content, paragraph, number, after } = this;
    this.outer.push({ content, paragraph, number, after });
    this.resume({ content: '', paragraph: newParagraph(), number: '', after: [] });
    this.structure.capture();
  }

  private endDestination(destination: Destination): void {
    if (destination === 'number') {
      this.number = this.content.slice(this.numberFrom).trim();
      this.content = this.content.slice(0, this.numberFrom);
      return;
    }
    if (!INNER.has(destination)) return;
    this.endParagraph();
    const pieces = this.structure.release();
    const outer = this.outer.pop();
    if (outer) this.resume(outer);
    if (destination === 'note' || destination === 'box') this.after.push(...pieces);
    else this.addRunningLines(pieces, destination === 'header' ? this.headers : this.footers);
  }

  private resume({ content, paragraph, number, after }: OuterText): void {
    this.content = content;
    this.paragraph = paragraph;
    this.number = number;
    this.after = after;
  }

  private addRunningLines(pieces: readonly Piece[], lines: Set<string>): void {
    for (const piece of pieces) {
      const line = piece.type === 'table' ? '' : runningLine(piece.text);
      if (line !== '') lines.add(line);
    }
  }

  /** Properties that a group inherits. */
  private setState(word: string, param: number | undefined): void {
    if (word === 'f') this.state = { ...this.state, font: param };
    else if (word === 'uc') this.state = { ...this.state, fallback: Math.max(0, param ?? 1) };
    else if (word === 'v' || word === 'deleted') {
      this.state = { ...this.state, hidden: param !== 0 };
    } else if (word === 'plain') this.state = { ...this.state, hidden: false };
    else if (word === 'ansicpg' && param !== undefined) this.codePage = param;
    else if (word === 'mac') this.codePage = 10_000;
  }

  /** An entry of the table of fonts or styles. */
  private define(word: string, param: number | undefined): void {
    if (this.state.destination === 'fonts') {
      if (word === 'f') {
        this.definition = { ...this.definition, font: param ?? 0 };
        this.fonts.set(param ?? 0, { codePage: undefined, charset: 0, name: '' });
      }
      const font = this.fonts.get(this.definition.font);
      if (font && word === 'fcharset') font.charset = param ?? 0;
      else if (font && word === 'cpg') font.codePage = param;
      return;
    }
    if (word === 's') this.definition = { ...this.definition, style: param ?? 0, name: '' };
    // Styles of characters have no number of paragraphs.
    else if (word === 'cs' || word === 'ts' || word === 'ds') this.definition.style = -1;
    else if (word === 'outlinelevel' && (param ?? 9) < 9 && this.definition.style >= 0) {
      this.headings.set(this.definition.style, (param ?? 0) + 1);
    }
  }

  private format(word: string, param: number | undefined): void {
    const { paragraph } = this;
    switch (word) {
      case 'par':
      case '\n': // A backslash before a line end is a \par.
      case '\r':
      case 'page':
      case 'sect':
        this.endParagraph();
        break;
      case 'pard':
        this.paragraph = newParagraph();
        break;
      case 'intbl':
        paragraph.inTable = true;
        break;
      case 'itap':
        paragraph.depth = Math.min(Math.max(0, param ?? 1), MAX_TABLE_DEPTH);
        break;
      case 's':
        paragraph.style = param;
        break;
      case 'outlinelevel':
        paragraph.outline = param !== undefined && param < 9 ? param + 1 : undefined;
        break;
      case 'cell':
      case 'nestcell':
        this.endCell(word === 'cell' ? 1 : Math.max(2, paragraph.depth));
        break;
      case 'row':
      case 'nestrow':
        this.endRow(word === 'row' ? 1 : Math.max(2, this.tables));
        break;
      case 'trowd':
        this.merged = [];
        this.nextMerged = false;
        break;
      case 'clvmrg':
        this.nextMerged = true;
        break;
      case 'cellx':
        this.merged.push(this.nextMerged);
        this.nextMerged = false;
        break;
      default:
    }
  }

  private addText(data: Buffer): void {
    if (this.state.destination === 'skipped') return;
    let text = data;
    if (this.skip > 0) {
      const skipped = Math.min(this.skip, text.length);
      this.skip -= skipped;
      text = text.subarray(skipped);
    }
    if (this.state.destination === 'fonts' || this.state.destination === 'styles') {
      this.addName(text.toString('latin1'));
    } else this.bytes.push(text);
  }

  private addName(text: string): void {
    if (this.state.destination === 'fonts') {
      const font = this.fonts.get(this.definition.font);
      if (font) font.name += text.replace(/;.*/s, '');
      return;
    }
    this.definition.name += text;
    const level = /^\s*(?:heading|überschrift|titre|título|标题) ?([1-9])\s*;/i.exec(
      this.definition.name,
    )?.[1];
    if (level !== undefined && this.definition.style >= 0) {
      this.headings.set(this.definition.style, Number(level));
    }
  }

  private addUnicode(code: number): void {
    this.flush();
    if (this.state.destination === 'skipped') return;
    // The code is a signed 16-bit number.
    const unit = code < 0 ? code + 65_536 : code;
    const isSymbol = unit >= 0xf020 && unit <= 0xf0ff;
    this.append(isSymbol ? this.symbol(unit - 0xf000) : String.fromCharCode(unit & 0xffff));
    this.skip = this.state.fallback;
  }

  /** Decodes what was read in one font. */
  private flush(): void {
    if (this.bytes.length === 0) return;
    const bytes = Buffer.concat(this.bytes);
    this.bytes = [];
    const font = this.fonts.get(this.state.font ?? -1);
    if (font?.charset === SYMBOL_CHARSET) {
      this.append([...bytes].map((byte) => this.symbol(byte)).join(''));
      return;
    }
    const page = font?.codePage ?? CHARSETS[font?.charset ?? 0] ?? this.codePage;
    this.append(this.decoderOf(page).decode(bytes));
  }

  private decoderOf(page: number): TextDecoder {
    const cachedDecoder = this.decoders.get(page);
    if (cachedDecoder) return cachedDecoder;
    const decoder = new TextDecoder(encodingOfCodePage(page) ?? 'windows-1252');
    this.decoders.set(page, decoder);
    return decoder;
  }

  private symbol(code: number): string {
    const name = this.fonts.get(this.state.font ?? -1)?.name.trim() ?? 'Symbol';
    return hex(name, code.toString(16))?.string ?? (code === 0xb7 ? '•' : '');
  }

  private append(text: string): void {
    const { destination, hidden } = this.state;
    const isText = destination !== 'skipped' && destination !== 'fonts' && destination !== 'styles';
    if (hidden || !isText) return;
    // Line ends of the file are no text.
    this.content += text.replace(/[\r\n]/g, text === '\n' ? '\n' : '');
  }

  private endParagraph(): void {
    this.flush();
    const text = storable(this.content).trim();
    this.content = '';
    const { paragraph } = this;
    const { after } = this;
    this.after = [];
    const depth = paragraph.inTable ? Math.max(1, paragraph.depth) : 0;
    if (this.outer.length === 0) {
      if (depth > 0) this.openTables(depth);
      else this.endTables(0);
    }
    const outline = paragraph.outline ?? this.headings.get(paragraph.style ?? -1);
    const isBullet = /^[•·▪◦–—o*-]$|^[\uf000-\uf0ff]$/.test(this.number);
    const mark = this.number === '' || text === '' ? '' : `${isBullet ? '-' : this.number} `;
    this.number = '';
    if (outline !== undefined && depth === 0) this.structure.heading(`${mark}${text}`, outline);
    else this.structure.paragraph(`${mark}${text}`);
    this.structure.put(after);
  }

  /** Opens what is missing of the tables around a cell at this depth. */
  private openTables(depth: number): void {
    this.endTables(depth);
    for (let level = 1; level <= depth; level += 1) {
      if (this.tables < level) {
        this.structure.beginTable();
        this.tables = level;
        this.inCell[level] = false;
        if (level === 1) this.cell = 0;
      }
      if (this.inCell[level]) continue;
      this.structure.beginCell({ continued: level === 1 && (this.merged[this.cell] ?? false) });
      this.inCell[level] = true;
    }
  }

  private endCell(depth: number): void {
    this.paragraph.inTable = true;
    this.paragraph.depth = depth;
    this.endParagraph();
    if (this.outer.length > 0) return;
    this.structure.endCell();
    this.inCell[depth] = false;
    if (depth === 1) this.cell += 1;
  }

  private endRow(depth: number): void {
    if (this.outer.length > 0 || this.tables < depth) return;
    this.endTables(depth);
    this.structure.endRow();
    this.inCell[depth] = false;
    if (depth === 1) this.cell = 0;
  }

  private endTables(depth: number): void {
    while (this.tables > depth) {
      this.structure.endTable();
      this.tables -= 1;
    }
  }
}

function newParagraph(): Paragraph {
  return { inTable: false, depth: 1, outline: undefined, style: undefined };
}
