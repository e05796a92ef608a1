import { suffixOf } from './format/text/source-language.js';

/** Zip files by these names are documents; what is in them is found out when they are parsed. */
const OFFICE_SUFFIXES = [
  '.docx',
  '.docm',
  '.dotx',
  '.dotm',
  '.xlsx',
  '.xlsm',
  '.xltx',
  '.xltm',
  // Renamed by their owner.
  '.doc',
  '.xls',
];

const ARCHIVES = [
  'application/zip',
  'application/gzip',
  'application/x-7z-compressed',
  'application/x-bzip2',
  'application/x-xz',
  'application/x-tar',
  'application/vnd.rar',
];

const refusals: Readonly<Record<string, string>> = {
  'application/vnd.openxmlformats-officedocument.presentationml.presentation':
    'PowerPoint files are not supported. Export the presentation as PDF and upload that.',
  'application/epub+zip': 'EPUB files are not supported. Convert the book to PDF and upload that.',
};

/**
 * Why no file of this type can ever be parsed, and what to do instead; undefined where it may be. The type is the one
 * that the storage found by the content, so that a wrong name does not matter.
 */
export function refusalOf(file: { name: string; mimeType: string }): string | undefined {
  const { name, mimeType } = file;
  const [family] = mimeType.split('/');
  if (family === 'image') {
    return 'Images are not supported, since they hold no text. Run OCR (text recognition) over it and upload the resulting PDF.';
  }
  if (family === 'audio' || family === 'video') {
    return 'Audio and video files are not supported. Upload a transcript instead.';
  }
  if (mimeType === 'application/zip' && OFFICE_SUFFIXES.includes(suffixOf(name))) return undefined;
  if (ARCHIVES.includes(mimeType)) {
    return 'Archives are not supported. Unpack it and upload the documents in it.';
  }
  return refusals[mimeType];
}
