import { z } from 'zod';
import type { FilePart } from './api.request.js';

/** As chat files. */
export const MAX_FILE_NAME_CHARS = 255;

const DATA = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,/i;

/** The content of a file as an address of data. Some clients send the base64 alone. */
export const fileData = z
  .string()
  .min(1)
  .refine(
    (text) => DATA.test(text) || !text.slice(0, 20).includes(':'),
    'it must be a data address with base64, such as data:application/pdf;base64,…',
  );

/** The suffix of files whose name is not known, by their type. PDF is what clients send without saying so. */
const SUFFIXES: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'text/csv': 'csv',
  'application/json': 'json',
  'application/x-ipynb+json': 'ipynb',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
  'message/rfc822': 'eml',
  'application/epub+zip': 'epub',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-excel.sheet.binary.macroenabled.12': 'xlsb',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.ms-outlook': 'msg',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
};

/** A file of a request. `data` is an address of data or base64. */
export function filePartOf(
  data: string,
  name: string | null | undefined,
  param: string,
  mediaType?: string,
): FilePart {
  const [head = '', type = mediaType] = DATA.exec(data) ?? [];
  const content = Buffer.from(data.slice(head.length), 'base64');
  return { type: 'file', name: fileName(name, type), content, param };
}

function fileName(name: string | null | undefined, type = ''): string {
  const suffix = SUFFIXES[type.toLowerCase()] ?? 'pdf';
  const given = name?.trim() ?? '';
  if (given === '') return `document.${suffix}`;
  return /\.\w{1,10}$/.test(given) ? given : `${given}.${suffix}`;
}
