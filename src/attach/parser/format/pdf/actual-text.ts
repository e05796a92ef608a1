import {
  dictionaryOf,
  FileObjects,
  isWord,
  MAX_STREAM_BYTES,
  nameOf,
  PdfLexer,
  PdfName,
  PdfReference,
  PdfString,
  sourceOf,
} from './file-objects.js';
import type { PdfDictionary, PdfObject, PdfToken, PdfValue } from './file-objects.js';

const TAG = 'ActualText:';

/** Levels of the tree of pages, and of the structure. */
const MAX_DEPTH = 50;

/** Content that is looked through; what follows keeps the text of its glyphs. */
const MAX_CONTENT_BYTES = 2 ** 28;

/** Replacement text of marked content, from the tag that withActualText inserted. */
export function actualTextOf(tag: unknown): string | undefined {
  if (typeof tag !== 'string' || !tag.startsWith(TAG)) return undefined;
  return Buffer.from(tag.slice(TAG.length), 'hex').swap16().toString('utf16le');
}

/**
 * A file whose marked content carries in its tag the text that stands for it (ActualText, ISO 32000-1, 14.9.4), which PDF.js
 * does not pass on: the streams that say so are written again in an update behind the file. Of an encrypted file, and of
 * one without a trailer, the file as it is.
 */
export function withActualText(bytes: Buffer): Buffer {
  const end = endOf(bytes);
  if (!end) return bytes;
  const file = new FileObjects(bytes);
  const texts = new ReplacedTexts(file);
  const changed: (readonly [PdfObject, string])[] = [];
  let size = 0;
  for (const object of file.objects.values()) {
    if (object.data === undefined || !mayBeContent(object.value)) continue;
    const content = size < MAX_CONTENT_BYTES ? file.data(object, MAX_STREAM_BYTES) : undefined;
    if (!content) continue;
    size += content.length;
    const source = content.toString('latin1');
    const isMarked = source.includes('/ActualText') || texts.has(object.number);
    const tagged = isMarked ? withTags(source, texts.of(object.number)) : source;
    if (tagged !== source) changed.push([object, tagged]);
  }
  return changed.length === 0 ? bytes : updated({ bytes, file, end }, changed);
}

interface FileEnd {
  /** Offset of the object table. */
  readonly table: string;
  /** The reference to the catalogue. */
  readonly root: string;
}

function endOf(bytes: Buffer): FileEnd | undefined {
  if (bytes.includes('/Encrypt')) return undefined;
  const tail = bytes.subarray(-2_048).toString('latin1');
  const table = /startxref\s+(\d+)\s+%%EOF\s*$/.exec(tail)?.[1];
  const at = bytes.lastIndexOf('/Root');
  const root = /^\/Root\s+(\d+\s+\d+\s+R)/.exec(
    bytes.subarray(Math.max(at, 0), at + 60).toString('latin1'),
  )?.[1];
  return table === undefined || root === undefined ? undefined : { table, root };
}

function mayBeContent(value: PdfValue): boolean {
  const dictionary = dictionaryOf(value);
  if (!dictionary || dictionary.has('Length1')) return false;
  const [type, subtype] = [nameOf(dictionary.get('Type')), nameOf(dictionary.get('Subtype'))];
  return subtype === undefined
    ? type === undefined || type === 'Pattern'
    : subtype === 'Form' && type !== 'Metadata';
}

/** Replacement texts of marked content, by their names in a stream. */
interface StreamTexts {
  /** Replacement texts by the names of property lists. */
  readonly named: ReadonlyMap<string, string>;
  /** Replacement texts by structure number. */
  readonly numbered: ReadonlyMap<number, string>;
}

const NO_TEXTS: StreamTexts = { named: new Map(), numbered: new Map() };

/** Replacement texts of property lists and the structure tree, by content stream. */
class ReplacedTexts {
  private readonly streams = new Map<number, StreamTexts>();

  constructor(private readonly file: FileObjects) {
    const structure = this.structure();
    for (const { number, value } of file.objects.values()) {
      const dictionary = dictionaryOf(value);
      const isPage = nameOf(dictionary?.get('Type')) === 'Page';
      if (!dictionary || !(isPage || nameOf(dictionary.get('Subtype')) === 'Form')) continue;
      const texts = {
        named: this.named(this.inherited(dictionary)),
        numbered: structure.get(number) ?? NO_TEXTS.numbered,
      };
      if (texts.named.size + texts.numbered.size === 0) continue;
      for (const stream of isPage ? this.contents(dictionary) : [number]) {
        this.streams.set(stream, texts);
      }
    }
  }

  has(stream: number): boolean {
    return this.streams.has(stream);
  }

  of(stream: number): StreamTexts {
    return this.streams.get(stream) ?? NO_TEXTS;
  }

  private contents(page: PdfDictionary): number[] {
    const contents = page.get('Contents');
    const resolvedContents = this.file.resolve(contents);
    return (
      Array.isArray(resolvedContents) ? (resolvedContents as readonly PdfValue[]) : [contents]
    ).flatMap((stream) => (stream instanceof PdfReference ? [stream.object] : []));
  }

  /** The resources of a page may be those of a node above it. */
  private inherited(page: PdfDictionary): PdfDictionary | undefined {
    let node: PdfDictionary | undefined = page;
    for (let depth = 0; node && depth < MAX_DEPTH; depth += 1) {
      const resources = this.file.dictionary(node.get('Resources'));
      if (resources) return resources;
      node = this.file.dictionary(node.get('Parent'));
    }
    return undefined;
  }

  private named(resources: PdfDictionary | undefined): ReadonlyMap<string, string> {
    const lists = this.file.dictionary(resources?.get('Properties')) ?? new Map<string, PdfValue>();
    return new Map(
      [...lists].flatMap(([name, list]) => {
        const text = this.file.resolve(this.file.dictionary(list)?.get('ActualText'));
        return text instanceof PdfString ? [[name, text.text] as const] : [];
      }),
    );
  }

  /** Replacement texts by page and marked content; the first content of an element carries its whole text. */
  private structure(): ReadonlyMap<number, Map<number, string>> {
    const pages = new Map<number, Map<number, string>>();
    for (const { value } of this.file.objects.values()) {
      const element = dictionaryOf(value);
      const text = this.file.resolve(element?.get('ActualText'));
      if (!element || !(text instanceof PdfString) || !element.has('S')) continue;
      let rest = text.text;
      for (const { page, content } of this.contentOf(element)) {
        const texts = pages.get(page) ?? new Map<number, string>();
        pages.set(page, texts.set(content, rest));
        rest = '';
      }
    }
    return pages;
  }

  private contentOf(
    element: PdfDictionary,
    above?: number,
    depth = 0,
  ): { readonly page: number; readonly content: number }[] {
    const ownPage = element.get('Pg');
    const page = ownPage instanceof PdfReference ? ownPage.object : above;
    const kids = this.file.resolve(element.get('K'));
    if (depth > MAX_DEPTH) return [];
    return (Array.isArray(kids) ? (kids as readonly PdfValue[]) : [kids]).flatMap((kid) => {
      if (typeof kid === 'number') return page === undefined ? [] : [{ page, content: kid }];
      const child = this.file.dictionary(kid);
      if (!child || child.has('Stm') || child.has('Obj')) return [];
      const content = child.get('MCID');
      const place = child.get('Pg');
      const on = place instanceof PdfReference ? place.object : page;
      if (typeof content === 'number') return on === undefined ? [] : [{ page: on, content }];
      return this.contentOf(child, page, depth + 1);
    });
  }
}

/** Inserts the replacement texts into the tags of marked content of a stream. */
function withTags(source: string, texts: StreamTexts): string {
  const lexer = new PdfLexer(source);
  const parts: string[] = [];
  let copiedUpTo = 0;
  let operands: { readonly token: PdfToken; readonly value: PdfValue }[] = [];
  for (let token = lexer.next(); token; token = lexer.next()) {
    const value = lexer.valueFrom(token);
    if (value !== undefined) {
      operands.push({ token, value });
      continue;
    }
    const [tag, properties] = operands.slice(-2);
    if (isWord(token, 'BDC') && tag?.value instanceof PdfName && properties) {
      const text = textOf(properties.value, texts);
      if (text !== undefined) {
        parts.push(source.slice(copiedUpTo, tag.token.start), `/${TAG}${hexOf(text)}`);
        copiedUpTo = tag.token.end;
      }
    }
    if (isWord(token, 'ID')) skipImage(lexer, source);
    operands = [];
  }
  return parts.length === 0 ? source : parts.join('') + source.slice(copiedUpTo);
}

function textOf(properties: PdfValue, { named, numbered }: StreamTexts): string | undefined {
  const name = nameOf(properties);
  if (name !== undefined) return named.get(name);
  const dictionary = dictionaryOf(properties);
  const text = dictionary?.get('ActualText');
  if (text instanceof PdfString) return text.text;
  const content = dictionary?.get('MCID');
  return typeof content === 'number' ? numbered.get(content) : undefined;
}

function hexOf(text: string): string {
  return Buffer.from(text, 'utf16le').swap16().toString('hex');
}

/** Moves the lexer behind the data of an inline image. */
function skipImage(lexer: PdfLexer, source: string): void {
  const end = /\sEI(?=[\s\0]|$)/g;
  end.lastIndex = lexer.position;
  lexer.position = end.test(source) ? end.lastIndex : source.length;
}

interface Updated {
  readonly bytes: Buffer;
  readonly file: FileObjects;
  readonly end: FileEnd;
}

/** The file with an update behind it (ISO 32000-1, 7.5.6), in which these streams are not packed. */
function updated(
  { bytes, file, end }: Updated,
  streams: readonly (readonly [PdfObject, string])[],
): Buffer {
  // Places in a file count from its header.
  const header = Math.max(bytes.subarray(0, 1_024).indexOf('%PDF-'), 0);
  const parts: Buffer[] = [bytes, Buffer.from('\n')];
  let offset = bytes.length + 1 - header;
  const entries: string[] = [];
  for (const [object, content] of streams) {
    const dictionary = new Map(dictionaryOf(object.value));
    dictionary.delete('Filter');
    dictionary.set('Length', content.length);
    const part = Buffer.from(
      `${object.number} ${object.generation} obj\n${sourceOf(dictionary)}\nstream\n${content}\nendstream\nendobj\n`,
      'latin1',
    );
    const place = String(offset).padStart(10, '0');
    const generation = String(object.generation).padStart(5, '0');
    entries.push(`${object.number} 1\n${place} ${generation} n \n`);
    parts.push(part);
    offset += part.length;
  }
  const size = [...file.objects.keys()].reduce((most, number) => Math.max(most, number), 0) + 1;
  parts.push(
    Buffer.from(
      `xref\n${entries.join('')}trailer\n<< /Size ${size} /Root ${end.root} /Prev ${end.table} >>\nstartxref\n${offset}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}
