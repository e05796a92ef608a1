import { hex } from 'dingbat-to-unicode';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { MathReader, ommlToLatex } from './formula.js';
import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import { PAGE_NUMBER, runningLine } from './running-line.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { NumberCounter, NumberingReader } from './word-numbering.js';
import { attributeOf, isOn, relationshipIn } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

interface Style {
  name: string;
  basedOn: string | undefined;
  outline: number | undefined;
  list: string | undefined;
  level: number | undefined;
  /** Whether the text is hidden (w:vanish). */
  hidden: boolean | undefined;
}

/** Names of heading styles in Word's languages and of two other programs that write .docx; ids have no blank. */
const HEADING = /^(?:heading|标题|標題|見出し) ?([1-9])$/i;

/** A longer paragraph with an outline level is text that someone wanted to see in the outline. */
const MAX_HEADING_CHARS = 250;

/** Maximum length of a chain of styles that are based on each other. */
const STYLE_CHAIN = 20;

/** Fields that count printed pages, which the extracted text does not have. */
const PAGE_FIELD = /^\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b/i;

/** Deleted and moved text, the older of two forms, phonetic guides, and properties that name elements of text. */
const SKIPPED = new Set([
  'del',
  'moveFrom',
  'Fallback',
  'rt',
  'tabs',
  'pPrChange',
  'rPrChange',
  'tcPrChange',
  'sectPr',
]);

/** Elements that represent a character. */
const CHARACTERS = new Map([
  ['tab', '\t'],
  ['ptab', '\t'],
  ['br', '\n'],
  ['cr', '\n'],
  ['noBreakHyphen', '\u2011'],
  ['softHyphen', '\u00ad'],
]);

/** Documents that one document embeds at most. */
const MAX_CHUNKS = 200;

/** Reads a document of another format that is embedded in this one; undefined where that cannot be read. */
type ChunkReader = (part: string) => Promise<readonly Piece[] | undefined>;

/**
 * Headings, paragraphs with their numbers, list items, tables, formulas, text boxes, notes and embedded documents
 * (altChunk) of a Word document, in their order; what its headers say at the start, and its footers at the end. No
 * pictures and no hidden text.
 */
export async function readDocx(
  document: DocumentPackage,
  readChunk: ChunkReader,
): Promise<SourceDocument> {
  const main = await document.mainPart('word/document.xml');
  const links = await document.relationshipsOf(main);
  const targets = (type: string) => links.filter((link) => link.type === type);
  const linked = (type: string) => targets(type)[0]?.target ?? `word/${type}.xml`;
  const lists = new NumberingReader();
  await document.readXml(linked('numbering'), lists);
  const styles = new StyleReader(lists);
  await document.readXml(linked('styles'), styles);
  const context = { styles, lists };
  const notes: Notes = { footnote: new Map(), endnote: new Map() };
  await document.readXml(linked('footnotes'), new NoteReader(context, notes.footnote));
  await document.readXml(linked('endnotes'), new NoteReader(context, notes.endnote));
  const runningLines = async (type: string) => {
    const lines = new Set<string>();
    for (const { target } of targets(type)) {
      await document.readXml(target, new RunningLineReader(context, lines));
    }
    return lines;
  };
  const headers = await runningLines('header');
  const footers = await runningLines('footer');
  const chunks = new Map<string, readonly Piece[]>();
  for (const { id, target } of targets('aFChunk').slice(0, MAX_CHUNKS)) {
    const pieces = await readChunk(target);
    if (pieces) chunks.set(id, pieces);
  }

  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  for (const line of headers) structure.paragraph(line);
  const body = new BodyReader(structure, { ...context, notes, chunks });
  if (!(await document.readXml(main, body))) throw missingPart(main);
  structure.end();
  for (const line of footers) if (!headers.has(line)) structure.paragraph(line);
  return { kind: 'document', ...writer.end() };
}

class StyleReader implements XmlHandler {
  private readonly styles = new Map<string, Style>();
  private style: Style | undefined;

  constructor(private readonly lists: NumberingReader) {}

  open(name: string, attributes: XmlAttributes): void {
    const value = attributeOf(attributes, 'val');
    if (name === 'style') {
      this.style = newStyle('');
      this.styles.set(attributeOf(attributes, 'styleId') ?? '', this.style);
    } else if (!this.style) return;
    else if (name === 'name') this.style.name = value ?? '';
    else if (name === 'basedOn') this.style.basedOn = value;
    else if (name === 'outlineLvl') this.style.outline = outlineLevel(value);
    else if (name === 'numId') this.style.list = value;
    else if (name === 'ilvl') this.style.level = Number(value) || 0;
    else if (name === 'vanish') this.style.hidden = isOn(value);
  }

  close(name: string): void {
    if (name === 'style') this.style = undefined;
  }

  headingLevel(id: string | undefined): number | undefined {
    for (const { name, outline } of this.chain(id)) {
      if (name === 'Title') return 1;
      const level = HEADING.exec(name)?.[1];
      if (level !== undefined) return Number(level);
      if (outline !== undefined) return outline;
    }
    return undefined;
  }

  /** The list of a style's paragraphs and their level in it. A list of its own names the style of each of its levels. */
  listOf(id: string | undefined): ListPlace | undefined {
    const chain = this.chain(id);
    const list = chain.find((style) => style.list !== undefined)?.list;
    if (list === undefined || list === '0') return undefined;
    const named = id === undefined ? undefined : this.lists.levelOfStyle(list, id);
    const level = chain.find((style) => style.level !== undefined)?.level;
    return { id: list, level: named ?? level ?? 0 };
  }

  isHidden(id: string | undefined): boolean {
    return this.chain(id).find(({ hidden }) => hidden !== undefined)?.hidden ?? false;
  }

  /** The style and those it is based on; of an id without a style, one of that name. */
  private chain(id: string | undefined): Style[] {
    const chain: Style[] = [];
    for (let next = id; next !== undefined && chain.length < STYLE_CHAIN;) {
      const style = this.styles.get(next);
      if (!style && chain.length === 0) {
        return [newStyle(next)];
      }
      if (!style) break;
      chain.push(style);
      next = style.basedOn;
    }
    return chain;
  }
}

function newStyle(name: string): Style {
  return {
    name,
    basedOn: undefined,
    outline: undefined,
    list: undefined,
    level: undefined,
    hidden: undefined,
  };
}

interface ListPlace {
  readonly id: string;
  /** List level, from 0. */
  readonly level: number;
}

/** Outline level from 1 (outermost); undefined for body text. */
function outlineLevel(value: string | undefined): number | undefined {
  const level = Number(value ?? NaN);
  return level >= 0 && level < 9 ? level + 1 : undefined;
}

interface Notes {
  readonly footnote: Map<string, string>;
  readonly endnote: Map<string, string>;
}

interface Paragraph {
  text: string;
  style: string | undefined;
  outline: number | undefined;
  /** List properties of the paragraph itself; missing ones come from its style. */
  list: { id: string | undefined; level: number | undefined } | undefined;
  /** Whether the paragraph mark was deleted, so that the text continues in the next paragraph. */
  joined: boolean;
  readonly notes: string[];
  /** The text boxes in it. */
  readonly boxes: Piece[];
}

/** State that all texts of a document share. */
interface Context {
  readonly styles: StyleReader;
  readonly lists: NumberingReader;
}

interface BodyContext extends Context {
  readonly notes: Notes;
  /** Embedded documents, by the relationship that names them. */
  readonly chunks: ReadonlyMap<string, readonly Piece[]>;
}

interface Field {
  instruction: string;
  result: boolean;
}

class BodyReader implements XmlHandler {
  private readonly path: string[] = [];
  /** Depth of the outermost element that is skipped. */
  private skippedFrom: number | undefined;
  private readonly paragraphs: Paragraph[] = [];
  private readonly fields: Field[] = [];
  private readonly controls: { checked: boolean | undefined }[] = [];
  private checkBox: { checked: boolean } | undefined;
  private span: { columns: number; continued: boolean } | undefined;
  private reading = false;
  private carried = '';
  private readonly numbers: NumberCounter;
  /** The run is not shown: as its properties say, or else as its style does. */
  private hidden: { self: boolean | undefined; style: string | undefined } | undefined;
  private math: MathReader | undefined;

  constructor(
    protected readonly structure: StructureWriter,
    private readonly context: BodyContext,
  ) {
    this.numbers = new NumberCounter(context.lists);
  }

  open(name: string, attributes: XmlAttributes): void {
    const parent = this.path.at(-1);
    if (this.math) {
      this.math.open(name, attributes);
      return;
    }
    this.path.push(name);
    if (this.skippedFrom !== undefined) return;
    if (name === 'oMath') {
      this.math = new MathReader();
      return;
    }
    const paragraph = this.paragraphs.at(-1);
    if (name === 'del' && parent === 'rPr') {
      if (paragraph && this.path.at(-3) === 'pPr') paragraph.joined = true;
      return;
    }
    if (name === 'instrText') this.reading = true;
    else if (SKIPPED.has(name)) this.skippedFrom = this.path.length;
    else this.start(name, attributes, paragraph);
  }

  text(text: string): void {
    if (this.math) {
      this.math.text(storable(text));
      return;
    }
    if (!this.reading) return;
    if (this.path.at(-1) === 'instrText') {
      const field = this.fields.at(-1);
      if (field && field.instruction.length < 100) field.instruction += text;
      return;
    }
    if (this.isHidden()) return;
    if (this.isPageNumber()) this.append(PAGE_NUMBER);
    else this.append(storable(text));
  }

  close(name: string): void {
    if (this.math) {
      if (!this.math.isWhole) {
        this.math.close(name);
        return;
      }
      this.append(ommlToLatex(this.math.end()));
      this.math = undefined;
    }
    const depth = this.path.length;
    this.path.pop();
    if (this.skippedFrom !== undefined) {
      if (depth === this.skippedFrom) this.skippedFrom = undefined;
      return;
    }
    if (name === 't' || name === 'instrText') this.reading = false;
    else this.finish(name);
  }

  /** Writes the text of a finished paragraph. */
  protected write(paragraph: Paragraph): void {
    const text = paragraph.text.replaceAll(PAGE_NUMBER, '').trim();
    const { structure } = this;
    const level = this.levelOf(paragraph, text);
    const place = paragraph.joined ? undefined : this.listOf(paragraph);
    // Every paragraph of a list counts, an empty one, too.
    const number = place && this.numbers.next(place.id, place.level);
    if (level !== undefined) structure.heading(numbered(number, text), level);
    else if (place) structure.paragraph(listItem(number, text, place.level));
    else structure.paragraph(text);
    // A foot note stands nowhere better than below what it explains.
    for (const note of paragraph.notes) structure.paragraph(note);
  }

  private start(name: string, attributes: XmlAttributes, paragraph: Paragraph | undefined): void {
    const value = attributeOf(attributes, 'val');
    const characters = CHARACTERS.get(name);
    if (characters !== undefined) {
      this.append(characters);
      return;
    }
    switch (name) {
      case 'p':
        this.paragraphs.push(newParagraph(this.carried));
        this.carried = '';
        break;
      case 't':
        this.reading = true;
        break;
      case 'r':
        this.hidden = { self: undefined, style: undefined };
        break;
      case 'vanish':
      case 'rStyle':
        this.setHidden(name, value);
        break;
      case 'altChunk':
        this.structure.put(this.context.chunks.get(relationshipIn(attributes) ?? '') ?? []);
        break;
      case 'sym':
        if (!this.isHidden()) this.append(symbolOf(attributes));
        break;
      case 'footnoteReference':
      case 'endnoteReference':
        this.addNote(name, attributes);
        break;
      case 'tbl':
      case 'tr':
      case 'tc':
      case 'gridSpan':
      case 'vMerge':
        this.startOfTable(name, value);
        break;
      case 'txbxContent':
        this.startCell();
        this.structure.capture();
        break;
      default:
        if (!paragraph || !setProperty(paragraph, name, value)) this.startOfField(name, attributes);
    }
  }

  private addNote(name: string, attributes: XmlAttributes): void {
    const { footnote, endnote } = this.context.notes;
    const notes = name === 'endnoteReference' ? endnote : footnote;
    const note = notes.get(attributeOf(attributes, 'id') ?? '');
    if (note !== undefined) this.paragraphs.at(-1)?.notes.push(note);
  }

  private startOfTable(name: string, value: string | undefined): void {
    if (name !== 'gridSpan' && name !== 'vMerge') this.startCell();
    if (name === 'tbl') this.structure.beginTable();
    else if (name === 'tr') this.structure.beginRow();
    else if (name === 'tc') this.span = { columns: 1, continued: false };
    else if (this.span && name === 'gridSpan') this.span.columns = Number(value) || 1;
    else if (this.span) this.span.continued = value !== 'restart';
  }

  /** Fields, check boxes and what controls of a form hold. */
  private startOfField(name: string, attributes: XmlAttributes): void {
    const value = attributeOf(attributes, 'val');
    const control = this.controls.at(-1);
    switch (name) {
      case 'fldChar':
        this.fieldCharacter(attributeOf(attributes, 'fldCharType'));
        break;
      case 'fldSimple':
        this.fields.push({ instruction: attributeOf(attributes, 'instr') ?? '', result: true });
        break;
      case 'sdt':
        this.controls.push({ checked: undefined });
        break;
      case 'checkbox':
        if (control) control.checked = false;
        break;
      case 'sdtContent':
        // The symbol in a check box is that of its font.
        if (control?.checked !== undefined && this.paragraphs.length > 0) {
          this.append(mark(control.checked));
          this.skippedFrom = this.path.length;
        }
        break;
      case 'checkBox':
        this.checkBox = { checked: false };
        break;
      case 'default':
      case 'checked':
        if (this.checkBox) this.checkBox.checked = isOn(value);
        else if (control?.checked !== undefined) control.checked = isOn(value);
        break;
      default:
    }
  }

  private finish(name: string): void {
    switch (name) {
      case 'r':
        this.hidden = undefined;
        break;
      case 'tcPr':
        this.startCell();
        break;
      case 'p': {
        this.startCell();
        const paragraph = this.paragraphs.pop();
        if (paragraph) this.endParagraph(paragraph);
        break;
      }
      case 'tc':
        this.startCell();
        this.structure.endCell();
        break;
      case 'tr':
        this.structure.endRow();
        break;
      case 'tbl':
        this.structure.endTable();
        break;
      case 'txbxContent': {
        const pieces = this.structure.release();
        const paragraph = this.paragraphs.at(-1);
        if (paragraph) for (const piece of pieces) paragraph.boxes.push(piece);
        else this.structure.put(pieces);
        break;
      }
      case 'fldSimple':
        this.fields.pop();
        break;
      case 'sdt':
        this.controls.pop();
        break;
      case 'checkBox':
        if (this.checkBox) this.append(mark(this.checkBox.checked));
        this.checkBox = undefined;
        break;
      default:
    }
  }

  /** The properties of a cell come before its text, or are absent. */
  private startCell(): void {
    const { span } = this;
    if (!span) return;
    this.span = undefined;
    this.structure.beginCell(span);
  }

  private endParagraph(paragraph: Paragraph): void {
    if (paragraph.joined) {
      this.carried = paragraph.text;
      paragraph.text = '';
    }
    this.write(paragraph);
    this.structure.put(paragraph.boxes);
  }

  private fieldCharacter(type: string | undefined): void {
    const field = this.fields.at(-1);
    if (type === 'begin') this.fields.push({ instruction: '', result: false });
    else if (type === 'separate' && field) field.result = true;
    else if (type === 'end') this.fields.pop();
  }

  /** Properties of the end of a paragraph say nothing about its text. */
  private setHidden(name: string, value: string | undefined): void {
    if (!this.hidden || this.path.at(-2) !== 'rPr' || this.path.at(-3) !== 'r') return;
    if (name === 'vanish') this.hidden.self = isOn(value);
    else this.hidden.style = value;
  }

  private isHidden(): boolean {
    const { hidden } = this;
    if (hidden?.self !== undefined) return hidden.self;
    const { styles } = this.context;
    if (hidden?.style !== undefined && styles.isHidden(hidden.style)) return true;
    return styles.isHidden(this.paragraphs.at(-1)?.style);
  }

  private isPageNumber(): boolean {
    const field = this.fields.at(-1);
    return field?.result === true && PAGE_FIELD.test(field.instruction);
  }

  private append(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (paragraph) paragraph.text += text;
  }

  private levelOf({ style, outline }: Paragraph, text: string): number | undefined {
    const level = this.context.styles.headingLevel(style);
    return level ?? (text.length <= MAX_HEADING_CHARS ? outline : undefined);
  }

  private listOf({ list, style }: Paragraph): ListPlace | undefined {
    const place = this.context.styles.listOf(style);
    if (!list) return place;
    const id = list.id ?? place?.id;
    if (id === '0') return undefined;
    return { id: id ?? '', level: list.level ?? place?.level ?? 0 };
  }
}

/** Collects the texts of notes by their id, each as one text. */
class NoteReader extends BodyReader {
  private id: string | undefined;
  private readonly lines: string[] = [];

  constructor(
    context: Context,
    private readonly textById: Map<string, string>,
  ) {
    super(new StructureWriter(new BlockWriter()), withoutNotes(context));
  }

  override open(name: string, attributes: XmlAttributes): void {
    if (name === 'footnote' || name === 'endnote') this.id = attributeOf(attributes, 'id');
    super.open(name, attributes);
  }

  override close(name: string): void {
    super.close(name);
    if ((name !== 'footnote' && name !== 'endnote') || this.id === undefined) return;
    this.textById.set(this.id, this.lines.splice(0).join('\n').trim());
  }

  protected override write({ text }: Paragraph): void {
    this.lines.push(text.trim());
  }
}

/** Collects the lines of a header or footer without numbers of pages, each once. */
class RunningLineReader extends BodyReader {
  constructor(
    context: Context,
    private readonly lines: Set<string>,
  ) {
    super(new StructureWriter(new BlockWriter()), withoutNotes(context));
  }

  protected override write({ text, boxes }: Paragraph): void {
    const line = runningLine(text);
    if (line !== '') this.lines.add(line);
    for (const box of boxes.splice(0)) if (box.type !== 'table') this.lines.add(box.text);
  }
}

function withoutNotes(context: Context): BodyContext {
  return { ...context, notes: { footnote: new Map(), endnote: new Map() }, chunks: new Map() };
}

/** False for an element that is no property of a paragraph. */
function setProperty(paragraph: Paragraph, name: string, value: string | undefined): boolean {
  if (name === 'pStyle') paragraph.style = value;
  else if (name === 'outlineLvl') paragraph.outline = outlineLevel(value);
  else if (name === 'numPr') paragraph.list = { id: undefined, level: undefined };
  else if (!paragraph.list) return false;
  else if (name === 'ilvl') paragraph.list.level = Number(value) || 0;
  else if (name === 'numId') paragraph.list.id = value;
  else return false;
  return true;
}

function newParagraph(text: string): Paragraph {
  return {
    text,
    style: undefined,
    outline: undefined,
    list: undefined,
    joined: false,
    notes: [],
    boxes: [],
  };
}

function listItem(number: string | undefined, text: string, level: number): string {
  return text === '' ? '' : `${'  '.repeat(Math.min(level, 9))}${numbered(number ?? '-', text)}`;
}

function numbered(number: string | undefined, text: string): string {
  return number === undefined || text === '' ? text : `${number} ${text}`;
}

function mark(checked: boolean): string {
  return checked ? '☑' : '☐';
}

/** A character of a font of symbols; those fonts number theirs from F000, too. Empty for one that is not known. */
function symbolOf(attributes: XmlAttributes): string {
  const font = attributeOf(attributes, 'font') ?? '';
  const char = attributeOf(attributes, 'char') ?? '';
  const character =
    hex(font, char) ?? (/^F0..$/i.test(char) ? hex(font, char.slice(2)) : undefined);
  return character?.string ?? '';
}
