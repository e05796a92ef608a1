import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';
import type { ZipFile, Entry } from 'yauzl';
import { text } from 'node:stream/consumers';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';

/** The bytes from `start` to `end`, which is exclusive, or to the end of the file. */
type ReadRange = (range: { readonly start: number; readonly end: number }) => Promise<Readable>;

/** Bytes that are read at once: the directory of an archive is read in pieces of some dozen bytes. */
const BLOCK_BYTES = 64 * 1_024;

/** Opens a zip whose content is read from a storage, of which only the parts that are needed are read. The caller closes it. */
export function openStoredZip(size: number, read: ReadRange): Promise<ZipFile> {
  // The entries are read after the directory, at whose end it would close itself.
  return fromRandomAccessReaderPromise(new BlockReader(read), size, { autoClose: false });
}

class BlockReader extends RandomAccessReader {
  private block = { start: 0, bytes: Buffer.alloc(0) };

  constructor(private readonly readRange: ReadRange) {
    super();
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.range(start, end));
  }

  private async *range(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end;) {
      const chunk = (await this.from(at)).subarray(0, end - at);
      if (chunk.length === 0) return;
      at += chunk.length;
      yield chunk;
    }
  }

  /** Bytes of the current block from an offset on; empty behind the end of the file. */
  private async from(at: number): Promise<Buffer> {
    const { start, bytes } = this.block;
    if (at >= start && at < start + bytes.length) return bytes.subarray(at - start);
    const read = await this.readRange({ start: at, end: at + BLOCK_BYTES });
    const block = Buffer.concat((await read.toArray()) as Buffer[]);
    this.block = { start: at, bytes: block };
    return block;
  }
}

/** Kind of a zip archive by its entries. */
export type ZipContent =
  | 'docx'
  | 'xlsx'
  | 'xlsb'
  | 'pptx'
  | 'odt'
  | 'ods'
  | 'odp'
  /** OpenDocument of another kind: a drawing, a formula, a chart. */
  | 'open-document'
  | 'epub'
  /** Files that belong to no format. */
  | 'archive';

/** Maximum number of entries; real documents have some hundred. */
export const ENTRY_LIMIT = 10_000;

/** The part of Office Open XML (ECMA-376 part 2) that lists the type of each part. */
const CONTENT_TYPES = '[content_types].xml';

/** The part of OpenDocument and EPUB that holds their media type. */
const MEDIA_TYPE = 'mimetype';

/** Maximum size of a content description; real ones have some kilobytes. */
const MAX_DESCRIPTION_BYTES = 2 ** 20;

/** The formats of Office by the type of their main part, and by its usual name where no list names the types. */
const officeFormats: readonly {
  readonly content: ZipContent;
  readonly type: RegExp;
  readonly part: string;
}[] = [
  {
    content: 'xlsb',
    type: /"application\/vnd\.ms-excel\.sheet\.binary\.macroEnabled\.main"/i,
    part: 'xl/workbook.bin',
  },
  { content: 'docx', type: mainPart('wordprocessingml', 'ms-word'), part: 'word/document.xml' },
  { content: 'xlsx', type: mainPart('spreadsheetml', 'ms-excel'), part: 'xl/workbook.xml' },
  {
    content: 'pptx',
    type: mainPart('presentationml', 'ms-powerpoint'),
    part: 'ppt/presentation.xml',
  },
];

/** The formats of OpenDocument by the media type of documents and templates. */
const openDocuments: Readonly<Record<string, ZipContent>> = {
  text: 'odt',
  spreadsheet: 'ods',
  presentation: 'odp',
};

/** The entries by which the content is known, in lower case. */
const TELLING = new Set([CONTENT_TYPES, MEDIA_TYPE, ...officeFormats.map(({ part }) => part)]);

/** Documents, templates, and both with macros. */
function mainPart(standard: string, macros: string): RegExp {
  return new RegExp(
    `["']application/vnd\\.(?:openxmlformats-officedocument\\.${standard}|${macros})\\.[\\w.]+\\.main\\+xml["']`,
    'i',
  );
}

const READABLE = ['docx', 'xlsx', 'xlsb', 'pptx', 'odt', 'ods', 'odp', 'epub'] as const;

/** The documents among them that can be parsed. */
export type ReadableZip = (typeof READABLE)[number];

export function isReadable(content: ZipContent): content is ReadableZip {
  return READABLE.some((readable) => readable === content);
}

/** Reason why the content of a zip cannot be parsed, and what to do instead. */
export const zipRefusals: Readonly<Record<Exclude<ZipContent, ReadableZip>, Message>> = {
  'open-document': msg`OpenDocument files other than texts, spreadsheets and presentations are not supported. Export it as PDF and upload that.`,
  archive: msg`The file is an archive. Unpack it and upload the documents in it.`,
};

/** Rejects when the archive is damaged. */
export async function contentOfZip(zip: ZipFile, entries: readonly Entry[]): Promise<ZipContent> {
  const byName = new Map(entries.map((entry) => [entry.fileName.toLowerCase(), entry]));
  const types = await descriptionIn(zip, byName.get(CONTENT_TYPES));
  const office = officeFormats.find(({ type, part }) =>
    types === undefined ? byName.has(part) : type.test(types),
  );
  if (office) return office.content;
  const mediaType = await descriptionIn(zip, byName.get(MEDIA_TYPE));
  const kind = /^application\/vnd\.oasis\.opendocument\.(\w+)/.exec(mediaType ?? '')?.[1] ?? '';
  if (Object.hasOwn(openDocuments, kind)) return openDocuments[kind] ?? 'open-document';
  if (mediaType?.startsWith('application/vnd.oasis.opendocument')) return 'open-document';
  return mediaType?.startsWith('application/epub') ? 'epub' : 'archive';
}

/** Kind of an archive; undefined if it cannot be read or has too many entries, which parsing reports. */
export async function lookIntoZip(open: () => Promise<ZipFile>): Promise<ZipContent | undefined> {
  let zip: ZipFile | undefined;
  try {
    zip = await open();
    if (zip.entryCount > ENTRY_LIMIT) return undefined;
    const telling: Entry[] = [];
    // Names may have 64 KiB each, so the others are not kept.
    for await (const entry of zip.eachEntry()) {
      if (TELLING.has(entry.fileName.toLowerCase())) telling.push(entry);
    }
    return await contentOfZip(zip, telling);
  } catch {
    return undefined;
  } finally {
    zip?.close();
  }
}

/** The reader compares the declared size while it inflates, so that a lie about it ends there. */
async function descriptionIn(zip: ZipFile, entry: Entry | undefined): Promise<string | undefined> {
  if (!entry || entry.isEncrypted() || entry.uncompressedSize > MAX_DESCRIPTION_BYTES) {
    return undefined;
  }
  return text(await zip.openReadStreamPromise(entry));
}
