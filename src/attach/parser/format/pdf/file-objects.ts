import { inflateSync, constants } from 'node:zlib';

/** A value of a PDF file (ISO 32000-1, 7.3); a name keeps its slash. */
export type PdfValue =
  | null
  | boolean
  | number
  | PdfName
  | PdfString
  | PdfReference
  | readonly PdfValue[]
  | PdfDictionary;

export class PdfName {
  constructor(readonly name: string) {}
}

export class PdfString {
  /** Raw bytes as Latin-1. */
  constructor(readonly bytes: string) {}

  /** UTF-16 or UTF-8 behind their marks, else Latin-1. */
  get text(): string {
    const { bytes } = this;
    if (bytes.startsWith('\xfe\xff')) {
      const even = Buffer.from(bytes.slice(2, bytes.length - (bytes.length % 2)), 'latin1');
      return even.swap16().toString('utf16le');
    }
    if (!bytes.startsWith('\xef\xbb\xbf')) return bytes;
    return Buffer.from(bytes.slice(3), 'latin1').toString('utf8');
  }
}

export class PdfReference {
  constructor(
    readonly object: number,
    readonly generation: number,
  ) {}
}

export type PdfDictionary = ReadonlyMap<string, PdfValue>;

/** One word of a PDF or of a content stream. */
export interface PdfToken {
  readonly start: number;
  readonly end: number;
  /** A value that is complete by itself, a delimiter such as `<<`, or an operator. */
  readonly value: PdfValue | PdfOperator;
}

class PdfOperator {
  constructor(readonly word: string) {}
}

/** Values in values. */
const MAX_DEPTH = 60;
/** A longer string is one that does not end. */
const MAX_STRING_BYTES = 2 ** 16;

const SPACE = '\0\t\n\f\r ';
const DELIMITERS = '()<>[]{}/%';

/** Reads the words of PDF syntax from a text of bytes (Latin-1). */
export class PdfLexer {
  constructor(
    private readonly text: string,
    public position = 0,
  ) {}

  next(): PdfToken | undefined {
    this.skipBlank();
    const start = this.position;
    const first = this.text[start];
    if (first === undefined) return undefined;
    const value = this.read(first);
    return { start, end: this.position, value };
  }

  /** The value that begins here, or undefined where none does. */
  value(depth = 0): PdfValue | undefined {
    const token = this.next();
    return token && this.valueFrom(token, depth);
  }

  valueFrom({ value }: PdfToken, depth = 0): PdfValue | undefined {
    if (typeof value === 'number') return this.reference(value);
    if (!(value instanceof PdfOperator)) return value;
    if (depth > MAX_DEPTH) return undefined;
    if (value.word === '[') return this.array(depth);
    if (value.word === '<<') return this.dictionary(depth);
    if (value.word === 'true' || value.word === 'false') return value.word === 'true';
    return value.word === 'null' ? null : undefined;
  }

  private reference(object: number): PdfValue {
    const { position } = this;
    const reference = /[\0\t\n\f\r ]+(\d{1,5})[\0\t\n\f\r ]+R(?![A-Za-z0-9])/y;
    reference.lastIndex = position;
    const generation = Number.isInteger(object) ? reference.exec(this.text)?.[1] : undefined;
    if (generation === undefined) return object;
    this.position = reference.lastIndex;
    return new PdfReference(object, Number(generation));
  }

  private array(depth: number): PdfValue[] {
    const values: PdfValue[] = [];
    for (let token = this.next(); token && !isWord(token, ']'); token = this.next()) {
      const value = this.valueFrom(token, depth + 1);
      if (value === undefined) break;
      values.push(value);
    }
    return values;
  }

  private dictionary(depth: number): PdfDictionary {
    const entries = new Map<string, PdfValue>();
    for (let token = this.next(); token && !isWord(token, '>>'); token = this.next()) {
      if (!(token.value instanceof PdfName)) break;
      const value = this.value(depth + 1);
      if (value === undefined) break;
      entries.set(token.value.name, value);
    }
    return entries;
  }

  private skipBlank(): void {
    for (;;) {
      const character = this.text[this.position];
      if (character === '%') {
        const end = /[\r\n]/g;
        end.lastIndex = this.position;
        this.position = end.test(this.text) ? end.lastIndex : this.text.length;
      } else if (character !== undefined && SPACE.includes(character)) this.position += 1;
      else return;
    }
  }

  private read(first: string): PdfToken['value'] {
    const two = this.text.slice(this.position, this.position + 2);
    if (two === '<<' || two === '>>') {
      this.position += 2;
      return new PdfOperator(two);
    }
    if (first === '(') return new PdfString(this.literal());
    if (first === '<') return new PdfString(this.hexadecimal());
    if (first === '/') {
      this.position += 1;
      const name = this.word();
      return new PdfName(
        name.replace(/#([0-9a-f]{2})/gi, (_, code: string) =>
          String.fromCharCode(parseInt(code, 16)),
        ),
      );
    }
    if (DELIMITERS.includes(first)) {
      this.position += 1;
      return new PdfOperator(first);
    }
    const word = this.word();
    return /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(word) ? Number(word) : new PdfOperator(word);
  }

  private word(): string {
    const start = this.position;
    for (let character = this.text[this.position]; character !== undefined;) {
      if (SPACE.includes(character) || DELIMITERS.includes(character)) break;
      this.position += 1;
      character = this.text[this.position];
    }
    return this.text.slice(start, this.position);
  }

  private literal(): string {
    const special = /[\\()]/g;
    const parts: string[] = [];
    const end = this.position + MAX_STRING_BYTES;
    let depth = 1;
    this.position += 1;
    while (this.position < end) {
      special.lastIndex = this.position;
      const at = special.exec(this.text)?.index ?? this.text.length;
      parts.push(this.text.slice(this.position, at));
      const character = this.text[at] ?? '';
      this.position = at + character.length;
      if (character === '\\') {
        parts.push(this.escaped());
        continue;
      }
      depth += character === '(' ? 1 : -1;
      if (depth === 0 || character === '') break;
      parts.push(character);
    }
    return parts.join('');
  }

  private escaped(): string {
    const octal = /[0-7]{1,3}/y;
    octal.lastIndex = this.position;
    const [code] = octal.exec(this.text) ?? [];
    if (code !== undefined) {
      this.position += code.length;
      return String.fromCharCode(parseInt(code, 8) & 0xff);
    }
    const character = this.text[this.position] ?? '';
    this.position += 1;
    if (character === '\r' && this.text[this.position] === '\n') this.position += 1;
    return ESCAPES[character] ?? character;
  }

  private hexadecimal(): string {
    const close = this.text.indexOf('>', this.position);
    const end = close < 0 ? this.text.length : close;
    const digits = this.text.slice(this.position + 1, end).replace(/[^0-9a-f]/gi, '');
    this.position = end + 1;
    return Buffer.from(digits.length % 2 ? `${digits}0` : digits, 'hex').toString('latin1');
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  '\n': '',
  '\r': '',
};

export function isWord({ value }: PdfToken, word: string): boolean {
  return value instanceof PdfOperator && value.word === word;
}

/** A value as it is written in a file. */
export function sourceOf(value: PdfValue): string {
  if (value instanceof PdfName) {
    const name = value.name.replace(/[^\w.+*-]/g, (character) => {
      return `#${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
    });
    return `/${name}`;
  }
  if (value instanceof PdfString) return `<${Buffer.from(value.bytes, 'latin1').toString('hex')}>`;
  if (value instanceof PdfReference) return `${value.object} ${value.generation} R`;
  const dictionary = dictionaryOf(value);
  if (dictionary) {
    const entries = [...dictionary].map(
      ([key, entry]) => `${sourceOf(new PdfName(key))} ${sourceOf(entry)}`,
    );
    return `<< ${entries.join(' ')} >>`;
  }
  return Array.isArray(value)
    ? `[${(value as readonly PdfValue[]).map(sourceOf).join(' ')}]`
    : JSON.stringify(value);
}

/** An object of a file, wherever it is written. */
export interface PdfObject {
  readonly number: number;
  readonly generation: number;
  readonly value: PdfValue;
  /** Offset of the data of a stream in the file. */
  readonly data?: number;
  /** The source of a value that stands in a stream of objects. */
  readonly packed?: string;
}

/** A damaged object may be read up to the end of the file; all of them together this often. */
const MAX_READS = 8;

/**
 * The objects of a PDF as they stand in it, without its table of objects: for what PDF.js does not pass on, and for files
 * that have lost the table. Of several objects with one number the last one counts.
 */
export class FileObjects {
  readonly objects: ReadonlyMap<number, PdfObject>;
  /** The object in which the file is cut off. */
  readonly unfinished: PdfObject | undefined;
  /** End offset of the last complete object. */
  readonly end: number;
  private readonly text: string;

  constructor(private readonly bytes: Buffer) {
    this.text = bytes.toString('latin1');
    const end = this.text.lastIndexOf('endobj');
    this.end = end < 0 ? 0 : end + 'endobj'.length;
    const objects = new Map<number, PdfObject>();
    const header =
      /(?<![0-9])(\d{1,8})[\0\t\n\f\r ]{1,9}(\d{1,5})[\0\t\n\f\r ]{1,9}obj(?![A-Za-z])/g;
    let remainingReads = this.text.length * MAX_READS;
    for (
      let match = header.exec(this.text);
      match && remainingReads > 0;
      match = header.exec(this.text)
    ) {
      const lexer = new PdfLexer(this.text, header.lastIndex);
      const value = lexer.value();
      remainingReads -= lexer.position - header.lastIndex;
      if (value === undefined) continue;
      const object = {
        number: Number(match[1]),
        generation: Number(match[2]),
        value,
        ...this.dataBehind(lexer.position),
      };
      // Moved to the end, as the order of the file is.
      objects.delete(object.number);
      objects.set(object.number, object);
      if (match.index >= this.end) this.unfinished = object;
      // The data of a stream hold no objects, by whatever they look like one.
      const length = dictionaryOf(value)?.get('Length');
      if (object.data !== undefined && this.endsAt(object.data, length)) {
        header.lastIndex = object.data + length;
      }
    }
    this.objects = objects;
    for (const object of [...objects.values()]) {
      if (nameOf(dictionaryOf(object.value)?.get('Type')) !== 'ObjStm') continue;
      for (const packed of this.unpacked(object)) {
        if (!objects.has(packed.number)) objects.set(packed.number, packed);
      }
    }
  }

  /** The value that a reference leads to. */
  resolve(value: PdfValue | undefined): PdfValue | undefined {
    return value instanceof PdfReference ? this.objects.get(value.object)?.value : value;
  }

  dictionary(value: PdfValue | undefined): PdfDictionary | undefined {
    return dictionaryOf(this.resolve(value));
  }

  /** The data of a stream as they were before they were packed: as much of them as there is, or undefined. */
  data({ value, data: start }: PdfObject, maxBytes: number): Buffer | undefined {
    const dictionary = dictionaryOf(value);
    if (!dictionary || start === undefined) return undefined;
    const filterEntry = this.resolve(dictionary.get('Filter'));
    const filters = (Array.isArray(filterEntry) ? filterEntry : [filterEntry]).flatMap(
      (filter) => nameOf(filter as PdfValue) ?? [],
    );
    if (dictionary.has('DecodeParms') || dictionary.has('Crypt')) return undefined;
    let bytes: Buffer | undefined = this.bytes.subarray(start, this.endOf(start, dictionary));
    for (const filter of filters) bytes = bytes && decoded(bytes, filter, maxBytes);
    return bytes;
  }

  private dataBehind(position: number): { data?: number } {
    const stream = /[\0\t\n\f\r ]*stream(?:\r\n|\n|\r)/y;
    stream.lastIndex = position;
    return stream.test(this.text) ? { data: stream.lastIndex } : {};
  }

  private endOf(start: number, dictionary: PdfDictionary): number {
    const length = this.resolve(dictionary.get('Length'));
    if (this.endsAt(start, length)) return start + length;
    const end = this.text.indexOf('endstream', start);
    return end < 0 ? this.text.length : end;
  }

  /** Whether stream data of this length is followed by its end marker. */
  private endsAt(start: number, length: PdfValue | undefined): length is number {
    if (typeof length !== 'number' || length < 0) return false;
    return /^\s*endstream/.test(this.text.slice(start + length, start + length + 20));
  }

  private unpacked(stream: PdfObject): PdfObject[] {
    const dictionary = dictionaryOf(stream.value);
    const text = this.data(stream, MAX_STREAM_BYTES)?.toString('latin1') ?? '';
    const first = dictionary?.get('First');
    if (typeof first !== 'number') return [];
    const places = text.slice(0, first).trim().split(/\s+/).map(Number);
    const objects: PdfObject[] = [];
    for (let at = 0; at + 1 < places.length; at += 2) {
      const start = first + (places[at + 1] ?? 0);
      const lexer = new PdfLexer(text, start);
      const value = start < text.length ? lexer.value() : undefined;
      if (value === undefined) continue;
      const number = places[at] ?? 0;
      objects.push({ number, generation: 0, value, packed: text.slice(start, lexer.position) });
    }
    return objects;
  }
}

export const MAX_STREAM_BYTES = 2 ** 26;

function decoded(bytes: Buffer, filter: string, maxBytes: number): Buffer | undefined {
  if (filter === 'ASCII85Decode' || filter === 'A85') return fromAscii85(bytes.toString('latin1'));
  if (filter === 'ASCIIHexDecode' || filter === 'AHx') {
    return Buffer.from(bytes.toString('latin1').replace(/[^0-9a-f]/gi, ''), 'hex');
  }
  if (filter !== 'FlateDecode' && filter !== 'Fl') return undefined;
  try {
    return inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}

function fromAscii85(text: string): Buffer {
  const [source = ''] = text.replace(/^\s*<~/, '').split('~');
  const bytes: number[] = [];
  let group: number[] = [];
  const flush = (count: number) => {
    const number = group.reduce((sum, digit) => sum * 85 + digit, 0);
    for (let at = 0; at < count; at += 1) bytes.push(Math.floor(number / 256 ** (3 - at)) & 0xff);
    group = [];
  };
  for (const character of source) {
    if (character === 'z' && group.length === 0) bytes.push(0, 0, 0, 0);
    else if (character >= '!' && character <= 'u') {
      group.push(character.charCodeAt(0) - 33);
      if (group.length === 5) flush(4);
    }
  }
  if (group.length > 1) {
    const count = group.length - 1;
    while (group.length < 5) group.push(84);
    flush(count);
  }
  return Buffer.from(bytes);
}

export function dictionaryOf(value: PdfValue | undefined): PdfDictionary | undefined {
  return value instanceof Map ? (value as PdfDictionary) : undefined;
}

export function nameOf(value: PdfValue | undefined): string | undefined {
  return value instanceof PdfName ? value.name : undefined;
}
