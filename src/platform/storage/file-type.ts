/** Control characters and bidirectional marks, with which "gpj.exe" is displayed as "exe.jpg". */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Path separators and characters that file systems of clients refuse in a name. */
const FORBIDDEN = /[\\/:*?"<>|]/g;

const MAX_NAME_CHARS = 255;
const MAX_SUFFIX_CHARS = 20;

/** The display name of an uploaded file: without path, invisible characters and excess length. */
export function displayName(originalName: string): string {
  const name = originalName
    .toWellFormed()
    .normalize('NFC')
    .replace(/^.*[\\/]/s, '')
    .replace(UNSEEN, '')
    .replace(FORBIDDEN, '_')
    .trim();
  if (name === '' || /^\.+$/.test(name)) return 'file';
  const suffix = suffixOf(name);
  const stem = [...name.slice(0, name.length - suffix.length)];
  return stem.slice(0, MAX_NAME_CHARS - [...suffix].length).join('') + suffix;
}

/** The suffix with its dot, as written in the name; empty when there is none. */
export function suffixOf(name: string): string {
  const [suffix = ''] = /(?<=.)\.[\p{L}\p{N}]+$/u.exec(name) ?? [];
  return suffix.length <= MAX_SUFFIX_CHARS ? suffix : '';
}

/** How many bytes from the start of a file determine its type. */
export const HEAD_BYTES = 4_096;

interface Signature {
  readonly type: string;
  readonly matches: (head: Buffer) => boolean;
}

/** A compound file of no known format. */
const OLE = 'application/x-ole-storage';

/** The first bytes of each format (magic numbers). */
const signatures: readonly Signature[] = [
  { type: 'image/png', matches: startsWith('89504e470d0a1a0a') },
  { type: 'image/jpeg', matches: startsWith('ffd8ff') },
  { type: 'image/gif', matches: startsWith(hex('GIF8')) },
  { type: 'image/bmp', matches: all(startsWith(hex('BM')), startsWith('00000000', 6)) },
  { type: 'image/tiff', matches: startsWith('49492a00') },
  { type: 'image/tiff', matches: startsWith('4d4d002a') },
  { type: 'image/webp', matches: all(startsWith(hex('RIFF')), startsWith(hex('WEBP'), 8)) },
  { type: 'audio/wav', matches: all(startsWith(hex('RIFF')), startsWith(hex('WAVE'), 8)) },
  { type: 'audio/mpeg', matches: startsWith(hex('ID3')) },
  { type: 'audio/ogg', matches: startsWith(hex('OggS')) },
  { type: 'audio/flac', matches: startsWith(hex('fLaC')) },
  { type: 'video/mp4', matches: startsWith(hex('ftyp'), 4) },
  { type: 'video/x-msvideo', matches: all(startsWith(hex('RIFF')), startsWith(hex('AVI '), 8)) },
  { type: 'video/webm', matches: startsWith('1a45dfa3') },
  { type: 'application/pdf', matches: startsWith(hex('%PDF-')) },
  { type: 'application/zip', matches: startsWith('504b0304') },
  { type: 'application/gzip', matches: startsWith('1f8b08') },
  { type: 'application/x-7z-compressed', matches: startsWith('377abcaf271c') },
  { type: 'application/vnd.rar', matches: startsWith('526172211a07') },
  { type: 'application/x-xz', matches: startsWith('fd377a585a00') },
  {
    type: 'application/x-bzip2',
    matches: all(startsWith(hex('BZh')), startsWith('314159265359', 4)),
  },
  { type: 'application/x-tar', matches: startsWith(hex('ustar'), 257) },
  { type: 'application/rtf', matches: startsWith(hex('{\\rtf')) },
  // The format of Office before 2007, and the container of an encrypted Office file.
  { type: OLE, matches: startsWith('d0cf11e0a1b11ae1') },
];

/** Formats that are zip archives. The choice among them does not affect safety, so the name decides. */
const zipFormats: Readonly<Record<string, string>> = {
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.xlsb': 'application/vnd.ms-excel.sheet.binary.macroEnabled.12',
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.ods': 'application/vnd.oasis.opendocument.spreadsheet',
  '.odp': 'application/vnd.oasis.opendocument.presentation',
  '.epub': 'application/epub+zip',
};

/** Formats that are OLE compound files; which one it is shows in its directory, which may lie anywhere in the file. */
const oleFormats: Readonly<Record<string, string>> = {
  '.doc': 'application/msword',
  '.dot': 'application/msword',
  '.xls': 'application/vnd.ms-excel',
  '.xlt': 'application/vnd.ms-excel',
  '.ppt': 'application/vnd.ms-powerpoint',
  '.pps': 'application/vnd.ms-powerpoint',
  '.pot': 'application/vnd.ms-powerpoint',
  '.msg': 'application/vnd.ms-outlook',
};

/** The type of a file by its content, independent of its name and the declared type. Markup is plain text. */
export function typeOf(head: Buffer, name: string): string {
  const type = signatures.find((signature) => signature.matches(head))?.type;
  if (type === 'application/zip') return zipFormats[suffixOf(name).toLowerCase()] ?? type;
  if (type === OLE) return oleFormats[suffixOf(name).toLowerCase()] ?? type;
  return type ?? (isText(head) ? 'text/plain; charset=utf-8' : 'application/octet-stream');
}

/** The images that browsers show and that cannot hold a script. SVG is text here. */
const PAGE_IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'];

/** Whether a page may show a file of this type as an image. */
export function isPageImage(mimeType: string): boolean {
  return PAGE_IMAGES.includes(mimeType);
}

function isText(head: Buffer): boolean {
  if (head.includes(0)) return false;
  try {
    // `stream` tolerates a character that the end of the head cuts in two.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function startsWith(hexBytes: string, offset = 0): Signature['matches'] {
  const bytes = Buffer.from(hexBytes, 'hex');
  return (head) => head.subarray(offset, offset + bytes.length).equals(bytes);
}

function all(...conditions: Signature['matches'][]): Signature['matches'] {
  return (head) => conditions.every((condition) => condition(head));
}

function hex(ascii: string): string {
  return Buffer.from(ascii, 'ascii').toString('hex');
}
