import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { readHtmlInto } from './html-reader.js';
import { StructureWriter } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { decodeText, storable } from './text/text-encoding.js';
import type { DecodedText } from './text/text-encoding.js';
import { isEncoding } from './xml-reader.js';

/** Where the standard looks for a declared encoding, and some more. */
const DECLARATION_BYTES = 4_096;

/** Characters in which the title of a page is looked for. */
const HEAD_LENGTH = 64 * 1_024;

/** Whether a text is a page by its beginning: a document type or the first element, behind comments. */
export function looksLikeHtml(text: string): boolean {
  let head = text.slice(0, DECLARATION_BYTES).replace(/^\s*<\?xml[^>]*\?>/, '');
  for (;;) {
    head = head.trimStart();
    if (!head.startsWith('<!--')) break;
    const end = head.indexOf('-->');
    if (end === -1) return false;
    head = head.slice(end + '-->'.length);
  }
  return /^<(?:!doctype\s+html|html|head|body)\b/i.test(head);
}

/** The text and structure of a page; its title is the first heading where it has no other of the first level. */
export function readHtml(text: string): SourceDocument {
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  const title = /<h1[\s>]/i.test(text) ? undefined : titleOf(text);
  if (title !== undefined) structure.heading(title, 1);
  readHtmlInto(text, structure, { xml: /^\s*<\?xml\b/.test(text) });
  structure.end();
  return { kind: 'document', ...writer.end() };
}

/** Text that declares its encoding in itself, where its bytes do not show it: HTML or XML. */
export function decodeMarkup(bytes: Buffer): DecodedText {
  const found = decodeText(bytes);
  if (/^utf-/.test(found.encoding)) return found;
  const head = bytes.subarray(0, DECLARATION_BYTES).toString('latin1');
  const label =
    /<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ??
    /^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)/i.exec(head)?.[1];
  if (label === undefined || !isEncoding(label)) return found;
  const decoder = new TextDecoder(label);
  // Declared as Unicode, which it is not: the declaration is wrong.
  if (/^utf-/.test(decoder.encoding)) return found;
  return { text: storable(decoder.decode(bytes)), encoding: decoder.encoding };
}

function titleOf(text: string): string | undefined {
  const structure = new StructureWriter(new BlockWriter());
  const head = /<title[^>]{0,200}>[^<]{0,2000}<\/title>/i.exec(text.slice(0, HEAD_LENGTH))?.[0];
  if (head === undefined) return undefined;
  const { title } = readHtmlInto(head, structure);
  return title === '' ? undefined : title;
}
