import type { ZipFile } from 'yauzl';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { suffixOf } from './format/text/source-language.js';
import { isReadable, lookIntoZip } from './format/zip-content.js';
import type { ZipContent } from './format/zip-content.js';

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

/** What the storage calls a zip by its name, and what that would have to be. */
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

/** Those whose text can be recognised. */
const READABLE_IMAGES = ['image/png', 'image/jpeg', 'image/webp'];

const ARCHIVE = msg`Archives are not supported. Unpack it and upload the documents in it.`;

interface CheckedFile {
  readonly name: string;
  /** As the storage found it by the first bytes. */
  readonly mimeType: string;
  /** Called for a zip only, whose format shows inside. */
  readonly openZip: () => Promise<ZipFile>;
  /** Whether text recognition is on; undefined where there is none, as for the files of a chat. */
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
  const found = await lookIntoZip(openZip);
  if (found === undefined && DOCUMENT_SUFFIXES.includes(suffixOf(name))) return undefined;
  const content = found ?? named;
  // LibreOffice may convert the other kinds of OpenDocument; their parsing says where it is not installed.
  if (isReadable(content) || content === 'open-document') return undefined;
  return ARCHIVE;
}
