import { buffer } from 'node:stream/consumers';
import { zipSync } from 'fflate';
import { fromBufferPromise } from 'yauzl';
import type { Entry, ZipFile } from 'yauzl';
import type { ReadLimits } from './document-source.js';
import { Refusal } from './document-source.js';
import { contentOfZip, ENTRY_LIMIT, zipRefusals } from './zip-content.js';

/** First bytes of a zip file. */
export const ZIP_FILE = Buffer.from('504b0304', 'hex');

/** A zip of Office Open XML whose parts were unpacked within the limits and packed again, without its media. */
interface OfficePackage {
  readonly kind: 'docx' | 'xlsx';
  readonly bytes: Buffer;
}

const MIB = 2 ** 20;

/**
 * Unpacks what the readers of Office files need, checking declared and real sizes on the way, since neither they nor
 * the heap limit of the process bounds what is inflated. Throws Refusal.
 */
export async function openOfficePackage(bytes: Buffer, limits: ReadLimits): Promise<OfficePackage> {
  const zip = await open(bytes);
  const entries = await entriesOf(zip);
  const kind = await kindOf(zip, entries);
  const parts = entries.filter(({ fileName }) => /\.(?:xml|rels)$/i.test(fileName));
  refuseTooLarge(parts, limits);
  const contents: Record<string, Buffer> = {};
  for (const part of parts) contents[part.fileName] = await unpack(zip, part);
  return { kind, bytes: Buffer.from(zipSync(contents, { level: 0 })) };
}

/** By its content, whatever the file is named. */
async function kindOf(zip: ZipFile, entries: readonly Entry[]): Promise<OfficePackage['kind']> {
  const content = await contentOfZip(zip, entries).catch((error: unknown) => {
    throw damaged(error);
  });
  if (content === 'docx' || content === 'xlsx') return content;
  throw new Refusal(zipRefusals[content]);
}

async function open(bytes: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(bytes);
  } catch (error) {
    throw damaged(error);
  }
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  refuseTooMany(zip.entryCount);
  const entries: Entry[] = [];
  try {
    for await (const entry of zip.eachEntry()) entries.push(entry);
  } catch (error) {
    throw damaged(error);
  }
  return entries;
}

function refuseTooMany(entries: number): void {
  if (entries <= ENTRY_LIMIT) return;
  throw new Refusal(
    `The file holds ${entries} packed parts, the limit is ${ENTRY_LIMIT}. Split the document into smaller ones.`,
  );
}

function refuseTooLarge(parts: readonly Entry[], { unpackedBytes }: ReadLimits): void {
  const declared = parts.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  if (declared <= unpackedBytes) return;
  throw new Refusal(
    `Unpacked, the file has ${Math.ceil(declared / MIB)} MiB, the limit is ${Math.floor(unpackedBytes / MIB)} MiB (PARSE_UNPACKED_MB). Split the document into smaller ones.`,
  );
}

/** The reader compares the declared size while it inflates, so that a lie about it ends there. */
async function unpack(zip: ZipFile, part: Entry): Promise<Buffer> {
  if (part.isEncrypted()) {
    throw new Refusal('The file is protected by a password. Remove it and upload the file again.');
  }
  let content: Buffer;
  try {
    content = await buffer(await zip.openReadStreamPromise(part));
  } catch (error) {
    throw damaged(error);
  }
  // Office Open XML (ECMA-376 part 2) forbids them; what defines entities wants to blow up or to read other files.
  if (content.includes('<!DOCTYPE') || content.includes('<!ENTITY')) {
    throw new Refusal(
      'The file defines XML entities, which Office files never do. Open it in Office, save it again and upload the result.',
    );
  }
  return content;
}

function damaged(error: unknown): Refusal {
  const reason = error instanceof Error ? error.message : String(error);
  return new Refusal(
    `The file is damaged, or its upload was cut off (${reason.slice(0, 150)}). Open it, save it again and upload the result.`,
  );
}

/** First bytes of OLE compound files [MS-CFB], in which Office kept its files before 2007 and keeps encrypted ones. */
export const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** By the streams that are inside, whose names stand in the file as UTF-16. */
const contents: readonly (readonly [string, string])[] = [
  [
    'EncryptedPackage',
    'The file is protected by a password. Open it, remove the password (File > Info > Protect) and upload it again.',
  ],
  [
    'WordDocument',
    'This is the old binary Word format (.doc), which is not supported. Open it, save it as .docx and upload that.',
  ],
  [
    'Workbook',
    'This is the old binary Excel format (.xls), which is not supported. Open it, save it as .xlsx and upload that.',
  ],
  [
    'PowerPoint Document',
    'This is the old binary PowerPoint format (.ppt), which is not supported. Export it as PDF and upload that.',
  ],
];

const OTHER =
  'This is an old binary Office format, which is not supported. Open it, save it as .docx, .xlsx or PDF and upload that.';

/** Why a compound file is not parsed. */
export function refusalOfCompoundFile(bytes: Buffer): Refusal {
  const known = contents.find(([stream]) => bytes.includes(Buffer.from(stream, 'utf16le')));
  return new Refusal(known?.[1] ?? OTHER);
}
