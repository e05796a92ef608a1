import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { ZipFile } from 'yauzl';
import { suffixOf } from './format/text/source-language.js';
import { isReadable, lookIntoZip } from './format/zip-content.js';
import type { ZipContent } from './format/zip-content.js';

/** A document that can never be parsed as it is. The message says what is wrong and what to do. */
export class DocumentError extends DomainError {
  readonly code = 400;
}

/** A document of a format that LibreOffice may convert where it is installed. */
export class ForeignFormatError extends DocumentError {
  constructor(
    reason: Message,
    readonly to: 'docx' | 'pdf',
  ) {
    super(reason);
  }
}

export class MemoryLimitError extends DocumentError {
  constructor(mebibytes: number) {
    super(
      msg`Parsing the document takes more than ${mebibytes} MiB of memory, which is the limit (PARSE_MEMORY_MB). Split it into smaller ones, or ask the operator to raise the limit.`,
    );
  }
}

export class TimeLimitError extends DocumentError {
  constructor(seconds: number) {
    super(
      msg`Parsing the document takes longer than ${seconds} s, which is the limit. Split it into smaller ones.`,
    );
  }
}

/** A reader broke down over the document; the cause is for the log. */
export class BrokenDocumentError extends DocumentError {}

/** The parsing ended for a reason outside of the document; it may succeed another time. */
export class ParsingInterruptedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

export class BrokenOffError extends ParsingInterruptedError {
  constructor(read: number, expected: number) {
    super(`Of the ${expected} bytes of a file only ${read} could be read.`);
  }
}

/** A zip that cannot be read is a damaged document if it has one of these names; its parsing says so. */
const DOCUMENT_SUFFIXES = [
  '.docx',
  '.docm',
  '.dotx',
  '.dotm',
  '.xlsx',
  '.xlsm',
  '.xltx',
  '.xltm',
  '.pptx',
  '.pptm',
  '.ppsx',
  '.ppsm',
  '.potx',
  '.potm',
  '.xlsb',
  '.odt',
  '.ott',
  '.ods',
  '.ots',
  '.odp',
  '.otp',
  '.odg',
  '.epub',
  // Renamed by their owner.
  '.doc',
  '.xls',
  '.ppt',
];

/** Kind of zip content that each zip-based media type of the storage requires. */
const ZIPS: Readonly<Record<string, ZipContent>> = {
  'application/zip': 'archive',
  'application/epub+zip': 'epub',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.ms-excel.sheet.binary.macroEnabled.12': 'xlsb',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
};

const ARCHIVES = [
  'application/gzip',
  'application/x-7z-compressed',
  'application/x-bzip2',
  'application/x-xz',
  'application/x-tar',
  'application/vnd.rar',
];

/** Media types of the images whose text can be recognised. */
const READABLE_IMAGES = ['image/png', 'image/jpeg', 'image/webp'];

const ARCHIVE = msg`Archives are not supported. Unpack it and upload the documents in it.`;

interface CheckedFile {
  readonly name: string;
  /** Media type that the storage detected from the first bytes. */
  readonly mimeType: string;
  /** Called for a zip only, whose format shows inside. */
  readonly openZip: () => Promise<ZipFile>;
  /** Whether text recognition is on; undefined where it does not exist, as for files of a chat. */
  readonly recognition?: boolean;
}

/**
 * Why no file of this content can ever be parsed, and what to do instead; undefined where it may be. The name matters
 * only for a zip that cannot be read.
 */
export async function refusalOf(file: CheckedFile): Promise<Message | undefined> {
  const { mimeType } = file;
  const [family] = mimeType.split('/');
  if (family === 'image') return refusalOfImage(file);
  if (family === 'audio' || family === 'video') {
    return msg`Audio and video files are not supported. Upload a transcript instead.`;
  }
  const named = ZIPS[mimeType];
  if (named !== undefined) return refusalOfZip(file, named);
  return ARCHIVES.includes(mimeType) ? ARCHIVE : undefined;
}

function refusalOfImage({ mimeType, recognition }: CheckedFile): Message | undefined {
  if (recognition === undefined) {
    return msg`Images are not supported, since they hold no text. Run OCR (text recognition) over it and upload the resulting PDF.`;
  }
  if (!READABLE_IMAGES.includes(mimeType)) {
    return msg`Images of this format are not read. Save it as PNG, JPEG or WebP, or run OCR (text recognition) over it and upload the resulting PDF.`;
  }
  if (recognition) return undefined;
  return msg`Images are read only by text recognition (OCR), which is off. Switch it on (enableOcr) in the settings of the knowledge base, or run OCR over the image and upload the resulting PDF.`;
}

async function refusalOfZip(
  { name, openZip }: CheckedFile,
  named: ZipContent,
): Promise<Message | undefined> {
  const detected = await lookIntoZip(openZip);
  if (detected === undefined && DOCUMENT_SUFFIXES.includes(suffixOf(name))) return undefined;
  const content = detected ?? named;
  // LibreOffice may convert the other kinds of OpenDocument; their parsing says where it is not installed.
  if (isReadable(content) || content === 'open-document') return undefined;
  return ARCHIVE;
}
