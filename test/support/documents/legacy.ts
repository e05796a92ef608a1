import { CFB as library, utils, write } from '@e965/xlsx';
import type { BookType } from '@e965/xlsx';

/** The writer of compound files in SheetJS, whose declarations leave it out. */
const CFB = library as {
  utils: {
    cfb_new(): object;
    cfb_add(file: object, path: string, content: Buffer): void;
    cfb_del(file: object, path: string): void;
  };
  write(file: object, options: { readonly type: 'buffer' }): Uint8Array;
};

/** An OLE compound file [MS-CFB] with these streams, by their paths. */
export function compoundOf(streams: Readonly<Record<string, Buffer>>): Buffer {
  const file = CFB.utils.cfb_new();
  for (const [path, content] of Object.entries(streams)) {
    CFB.utils.cfb_add(file, `/${path}`, content);
  }
  // What the library puts into new files itself.
  CFB.utils.cfb_del(file, '/\u0001Sh33tJ5');
  return Buffer.from(CFB.write(file, { type: 'buffer' }));
}

export interface WorkbookSheet {
  readonly name: string;
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
  /** Formats of numbers by cell: { B2: '00000' }. */
  readonly formats?: Readonly<Record<string, string>>;
  /** Merged cells: A2:A4. */
  readonly merged?: readonly string[];
}

/** A workbook in any format that Excel or LibreOffice had. */
export function workbookOf(sheets: readonly WorkbookSheet[], format: BookType): Buffer {
  const book = utils.book_new();
  for (const { name, rows, formats = {}, merged = [] } of sheets) {
    const sheet = utils.aoa_to_sheet(rows.map((row) => [...row]));
    for (const [cell, z] of Object.entries(formats)) Object.assign(sheet[cell] as object, { z });
    sheet['!merges'] = merged.map((range) => utils.decode_range(range));
    utils.book_append_sheet(book, sheet, name);
  }
  return Buffer.from(write(book, { type: 'buffer', bookType: format }) as Uint8Array);
}

/** A Word 97 document [MS-DOC] with this text: paragraphs end with \r, cells and rows of tables with \u0007. */
export function docOf(
  text: string,
  more: { readonly flags?: number; readonly version?: number } = {},
): Buffer {
  const start = 2_048;
  const header = Buffer.alloc(start);
  // FibBase: identifier, version, flags (the table is in the stream 1Table).
  header.writeUInt16LE(0xa5ec, 0);
  header.writeUInt16LE(more.version ?? 0x00c1, 2);
  header.writeUInt16LE(0x0200 | (more.flags ?? 0), 10);
  const body = Buffer.from(text, 'utf16le');
  header.writeUInt32LE(start + body.length, 28);
  // FibRgW97, FibRgLw97 (characters of the text), FibRgFcLcb97 (the piece table).
  header.writeUInt16LE(0x000e, 32);
  header.writeUInt16LE(0x0016, 62);
  header.writeUInt32LE(text.length, 0x4c);
  header.writeUInt16LE(0x005d, 152);
  const pieces = Buffer.alloc(5 + 8 + 8);
  pieces.writeUInt8(0x02, 0);
  pieces.writeUInt32LE(16, 1);
  pieces.writeUInt32LE(0, 5);
  pieces.writeUInt32LE(text.length, 9);
  pieces.writeUInt32LE(start, 15);
  header.writeUInt32LE(0, 0x1a2);
  header.writeUInt32LE(pieces.length, 0x1a6);
  return compoundOf({ WordDocument: Buffer.concat([header, body]), '1Table': pieces });
}

export interface PptSlide {
  readonly title?: string;
  readonly body?: string;
  readonly notes?: string;
}

/** A PowerPoint 97 presentation [MS-PPT] with titles in the list of slides, bodies in shapes, and notes. */
export function pptOf(slides: readonly PptSlide[]): Buffer {
  const parts: Buffer[] = [];
  const places: number[] = [];
  let length = 0;
  const add = (record: Buffer) => {
    const at = length;
    parts.push(record);
    length += record.length;
    return at;
  };
  const persist = (record: Buffer) => places.push(add(record));
  const entry = (id: number, slide: number) => atom(0x03f3, words(id, 0, 0, slide, 0));
  // The document is object 1, slides follow, then notes.
  const noted = slides.flatMap(({ notes }, index) =>
    notes === undefined ? [] : [{ notes, index }],
  );
  const lists = [
    container(
      0x0ff0,
      slides.flatMap(({ title }, index) => [
        entry(2 + index, 256 + index),
        ...(title === undefined ? [] : textOf(0, title)),
      ]),
    ),
    container(
      0x0ff0,
      noted.map((_, index) => entry(2 + slides.length + index, 512 + index)),
      2,
    ),
  ];
  persist(container(0x03e8, lists));
  for (const { body } of slides) {
    const box = body === undefined ? [] : [atom(0xf00d, Buffer.concat(textOf(1, body)))];
    persist(container(0x03ee, [container(0x040c, [container(0xf004, box)])]));
  }
  for (const { notes, index } of noted) {
    const box = [atom(0xf00d, Buffer.concat(textOf(2, notes)))];
    persist(container(0x03f0, [atom(0x03f1, words(256 + index, 0)), container(0x040c, box)]));
  }
  const directory = add(atom(0x1772, words((places.length << 20) | 1, ...places)));
  const edit = add(atom(0x0ff5, words(0, 0, 0, directory, 1, 0, 0)));
  return compoundOf({
    'PowerPoint Document': Buffer.concat(parts),
    'Current User': atom(0x0ff6, words(20, 0xe391c05f, edit, 0)),
  });
}

function textOf(kind: number, text: string): Buffer[] {
  return [atom(0x0f9f, words(kind)), atom(0x0fa0, Buffer.from(text, 'utf16le'))];
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32LE(value >>> 0, index * 4));
  return bytes;
}

function atom(type: number, body: Buffer, head = 0): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt16LE(head, 0);
  header.writeUInt16LE(type, 2);
  header.writeUInt32LE(body.length, 4);
  return Buffer.concat([header, body]);
}

function container(type: number, records: readonly Buffer[], instance = 0): Buffer {
  return atom(type, Buffer.concat(records), (instance << 4) | 0x0f);
}

export interface OutlookMessage {
  readonly subject: string;
  readonly from: readonly [name: string, address: string];
  readonly to: readonly (readonly [name: string, address: string])[];
  readonly text?: string;
  /** The page, in the code page that is named beside it. */
  readonly html?: Buffer;
  readonly codePage?: number;
  readonly attachments?: readonly { readonly name: string; readonly content: Buffer }[];
}

/** A message of Outlook [MS-OXMSG]. */
export function msgOf(message: OutlookMessage): Buffer {
  const streams: Record<string, Buffer> = {
    // Names of properties, of which there are none.
    '__nameid_version1.0/__substg1.0_00020102': Buffer.alloc(0),
    '__nameid_version1.0/__substg1.0_00030102': Buffer.alloc(0),
    '__nameid_version1.0/__substg1.0_00040102': Buffer.alloc(0),
  };
  const text = (folder: string, tag: string, value: string) => {
    streams[`${folder}__substg1.0_${tag}001F`] = Buffer.from(value, 'utf16le');
  };
  text('', '001A', 'IPM.Note');
  text('', '0037', message.subject);
  text('', '0C1A', message.from[0]);
  text('', '5D01', message.from[1]);
  if (message.text !== undefined) text('', '1000', message.text);
  if (message.html) streams['__substg1.0_10130102'] = message.html;
  const codePage = message.codePage ?? 65_001;
  streams['__properties_version1.0'] = Buffer.concat([
    Buffer.alloc(32),
    words(0x3fde0003, 6, codePage, 0),
  ]);
  message.to.forEach(([name, address], index) => {
    const folder = `__recip_version1.0_#0000000${index}/`;
    text(folder, '3001', name);
    text(folder, '39FE', address);
    streams[`${folder}__properties_version1.0`] = Buffer.concat([
      Buffer.alloc(8),
      words(0x0c150003, 6, 1, 0),
    ]);
  });
  (message.attachments ?? []).forEach(({ name, content }, index) => {
    const folder = `__attach_version1.0_#0000000${index}/`;
    text(folder, '3707', name);
    streams[`${folder}__substg1.0_37010102`] = content;
    streams[`${folder}__properties_version1.0`] = Buffer.concat([
      Buffer.alloc(8),
      words(0x37050003, 6, 1, 0),
    ]);
  });
  return compoundOf(streams);
}
