import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { Refusal } from './document-source.js';

/** First bytes of OLE compound files [MS-CFB], in which Office kept its files before 2007 and keeps encrypted ones. */
export const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** By the streams that are inside, whose names stand in the file as UTF-16. A message may hold the others. */
const contents: readonly (readonly [string, Message])[] = [
  [
    '__properties_version1.0',
    msg`This is an Outlook message (.msg), which is not supported. Save it as .eml and upload that.`,
  ],
  [
    'EncryptedPackage',
    msg`The file is protected by a password. Open it, remove the password (File > Info > Protect) and upload it again.`,
  ],
  [
    'WordDocument',
    msg`This is the old binary Word format (.doc), which is not supported. Open it, save it as .docx and upload that.`,
  ],
  [
    'Workbook',
    msg`This is the old binary Excel format (.xls), which is not supported. Open it, save it as .xlsx and upload that.`,
  ],
  [
    'PowerPoint Document',
    msg`This is the old binary PowerPoint format (.ppt), which is not supported. Open it, save it as .pptx or export it as PDF and upload that.`,
  ],
];

const OTHER = msg`This is an old binary Office format, which is not supported. Open it, save it as .docx, .xlsx or PDF and upload that.`;

/** Why a compound file is not parsed. */
export function refusalOfCompoundFile(bytes: Buffer): Refusal {
  const known = contents.find(([stream]) => bytes.includes(Buffer.from(stream, 'utf16le')));
  return new Refusal(known?.[1] ?? OTHER);
}
