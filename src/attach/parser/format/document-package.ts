import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';
import type { Entry, ZipFile } from 'yauzl';
import { msg } from '../../../platform/message/index.js';
import type { ReadLimits } from './document-source.js';
import { damaged, ForeignDocument, Refusal } from './document-source.js';
import { contentOfZip, ENTRY_LIMIT, isReadable, zipRefusals } from './zip-content.js';
import type { ReadableZip } from './zip-content.js';
import { attributeOf, decoded, readXml } from './xml-reader.js';
import type { XmlHandler } from './xml-reader.js';

/** First bytes of a zip file. */
export const ZIP_FILE = Buffer.from('504b0304', 'hex');

/** The parts that readers may read. */
const READ_PART = /\.(?:xml|rels|x?html?|opf|ncx)$/i;

/** Larger parts are only read piece by piece. */
const WHOLE_PART_BYTES = 64 * 2 ** 20;

const MIB = 2 ** 20;

/** A link from one part of an Office Open XML package to another (ECMA-376 part 2). */
interface Relationship {
  readonly id: string;
  /** The last part of its type, which the strict and the transitional form share: styles, header, ... */
  readonly type: string;
  /** Name of the part that it leads to. */
  readonly target: string;
}

/** Bytes of parts that were read so far, of a document and those that it embeds. */
export interface Unpacked {
  bytes: number;
}

/**
 * The parts of a document that is a zip, unpacked one by one when they are read. Declared and real sizes are checked on
 * the way, since neither they nor the heap limit of the process bounds what is inflated.
 */
export class DocumentPackage {
  private constructor(
    /** Kind detected from the content, whatever the file name says. */
    readonly kind: ReadableZip,
    private readonly zip: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
    private readonly limits: ReadLimits,
    private readonly unpacked: Unpacked,
  ) {}

  /** Opens a package. For a document inside another one, `unpacked` is the counter of the outer one. Throws Refusal. */
  static async open(
    bytes: Buffer,
    limits: ReadLimits,
    unpacked: Unpacked = { bytes: 0 },
  ): Promise<DocumentPackage> {
    const zip = await fromBufferPromise(bytes).catch((error: unknown) => {
      throw damaged(error);
    });
    const entries = await entriesOf(zip);
    const kind = await contentOfZip(zip, entries).catch((error: unknown) => {
      throw damaged(error);
    });
    if (kind === 'open-document') throw new ForeignDocument(zipRefusals[kind], 'pdf');
    if (!isReadable(kind)) throw new Refusal(zipRefusals[kind]);
    const declared = entries
      .filter(({ fileName }) => kind === 'xlsb' || READ_PART.test(fileName))
      .reduce(sizeSum, 0);
    refuseTooLarge(declared, limits);
    const byName = new Map(entries.map((entry) => [keyOf(entry.fileName), entry]));
    return new DocumentPackage(kind, zip, byName, limits, unpacked);
  }

  has(part: string): boolean {
    return this.entries.has(keyOf(part));
  }

  /** Reads a part piece by piece; false where there is none. */
  async readXml(part: string, handler: XmlHandler): Promise<boolean> {
    const entry = this.entries.get(keyOf(part));
    if (!entry) return false;
    await readXml(this.chunksOf(entry), handler);
    return true;
  }

  /** The text of a part piece by piece, to look for something before the part is read; nothing where there is none. */
  async *textOf(part: string): AsyncGenerator<string> {
    const entry = this.entries.get(keyOf(part));
    if (entry) yield* decoded(this.piecesOf(entry));
  }

  /** The whole of a part; undefined where there is none. */
  async read(part: string): Promise<Buffer | undefined> {
    const entry = this.entries.get(keyOf(part));
    if (!entry) return undefined;
    if (entry.uncompressedSize > WHOLE_PART_BYTES) {
      throw new Refusal(
        msg`The part ${part} has ${Math.ceil(entry.uncompressedSize / MIB)} MiB, the limit is ${WHOLE_PART_BYTES / MIB} MiB. Split the document into smaller ones.`,
      );
    }
    return buffer(this.chunksOf(entry));
  }

  /** The relationships of a part, or of the package without one. External links are skipped. */
  async relationshipsOf(part = ''): Promise<readonly Relationship[]> {
    const folder = posix.dirname(part);
    const relationships: Relationship[] = [];
    await this.readXml(posix.join(folder, '_rels', `${posix.basename(part)}.rels`), {
      open: (name, attributes) => {
        const target = attributeOf(attributes, 'Target');
        if (name !== 'Relationship' || target === undefined) return;
        if (attributeOf(attributes, 'TargetMode') === 'External') return;
        relationships.push({
          id: attributeOf(attributes, 'Id') ?? '',
          type: attributeOf(attributes, 'Type')?.replace(/.*\//, '') ?? '',
          target: resolved(folder, target),
        });
      },
      close: () => undefined,
    });
    return relationships;
  }

  /** The part that the others belong to, by the list of the package. */
  async mainPart(usual: string): Promise<string> {
    const links = await this.relationshipsOf();
    const main = links.find(({ type }) => type === 'officeDocument')?.target;
    return main !== undefined && this.has(main) ? main : usual;
  }

  /** The reader compares the declared size while it inflates, so that a lie about it ends there. */
  private async *chunksOf(entry: Entry): AsyncGenerator<Buffer> {
    // Parts may be read more than once, but no document needs that often.
    this.unpacked.bytes += entry.uncompressedSize;
    refuseTooLarge(this.unpacked.bytes, this.limits);
    yield* this.piecesOf(entry);
  }

  private async *piecesOf(entry: Entry): AsyncGenerator<Buffer> {
    if (entry.isEncrypted()) throw passwordProtected();
    refuseTooLarge(entry.uncompressedSize, this.limits);
    try {
      for await (const chunk of await this.zip.openReadStreamPromise(entry)) yield chunk as Buffer;
    } catch (error) {
      throw damaged(error);
    }
  }
}

export function passwordProtected(): Refusal {
  return new Refusal(
    msg`The file is protected by a password. Open it, remove the password (File > Info > Protect) and upload it again.`,
  );
}

/** The refusal of a package without a part that its format requires. */
export function missingPart(part: string): Refusal {
  return new Refusal(
    msg`The file is damaged: its part ${part.slice(0, 100)} is missing. Open it, save it again and upload the result.`,
  );
}

/** The name of a part that another part in this folder names. */
export function resolved(folder: string, target: string): string {
  return target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
}

/** Names of parts do not differ by case alone (ECMA-376 part 2), and some writers put a slash or ./ before them. */
function keyOf(part: string): string {
  return posix.normalize(part.toLowerCase()).replace(/^\/+/, '');
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > ENTRY_LIMIT) {
    throw new Refusal(
      msg`The file holds ${zip.entryCount} packed parts, the limit is ${ENTRY_LIMIT}. Split the document into smaller ones.`,
    );
  }
  const entries: Entry[] = [];
  try {
    for await (const entry of zip.eachEntry()) entries.push(entry);
  } catch (error) {
    throw damaged(error);
  }
  return entries;
}

function sizeSum(sum: number, { uncompressedSize }: Entry): number {
  return sum + uncompressedSize;
}

function refuseTooLarge(bytes: number, { unpackedBytes }: ReadLimits): void {
  if (bytes <= unpackedBytes) return;
  throw new Refusal(
    msg`Unpacked, the file has ${Math.ceil(bytes / MIB)} MiB, the limit is ${Math.floor(unpackedBytes / MIB)} MiB. Split the document into smaller ones.`,
  );
}
