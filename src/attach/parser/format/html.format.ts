import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { readHtmlInto } from './html-reader.js';
import { StructureWriter } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { decodeText, storable } from './text/text-encoding.js';
import type { DecodedText } from './text/text-encoding.js';
import { isEncoding } from './xml-reader.js';

/** Number of bytes in which an encoding may be declared: those of the standard, and some more. */
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

/** Encodings in which any bytes are text, so that only their text shows whether the label is right. */
const ANY_BYTES =
  /^(?:windows-125\d|iso-8859-\d+|koi8-[ru]|ibm866|macintosh|x-mac-cyrillic|x-user-defined)$/;

/** Encodings of escapes, whose bytes are those of ASCII. */
const ESCAPED = /^iso-2022/;

/**
 * Text that declares its encoding in itself (HTML or XML), or comes with a label. A label is believed where the bytes are
 * text by it; UTF-8 that is labelled as something else is UTF-8.
 */
export function decodeMarkup(bytes: Buffer, label?: string): DecodedText {
  const labels = [label, declaredIn(bytes)].map((name) => decoderOf(name)?.encoding);
  const escaped = labels.find((name) => name !== undefined && ESCAPED.test(name));
  if (escaped !== undefined) return decodedAs(escaped, bytes);
  const decoded = decodeText(bytes);
  if (/^utf-/.test(decoded.encoding)) return decoded;
  for (const name of labels) {
    // Declared as Unicode, which it is not: the declaration is wrong.
    if (name === undefined || /^utf-/.test(name)) continue;
    const read = decodedAs(name, bytes);
    if (read.text.includes('\ufffd')) continue;
    if (ANY_BYTES.test(name) && !isAlphabetOf(decoded.encoding, name)) continue;
    return read;
  }
  return decoded;
}

/** Whether the detected encoding is single-byte as well, so that the declared label may be more precise. */
function isAlphabetOf(detectedEncoding: string, label: string): boolean {
  const latin = /^(?:windows-125[0247]|iso-8859-(?:1|2|3|4|9|10|13|14|15|16)|macintosh)$/;
  // Western encodings are told apart by the text; detection does not choose those of other alphabets by mistake.
  return latin.test(label) ? latin.test(detectedEncoding) : ANY_BYTES.test(detectedEncoding);
}

function declaredIn(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, DECLARATION_BYTES).toString('latin1');
  return (
    /<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ??
    /^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)/i.exec(head)?.[1]
  );
}

function decoderOf(label: string | undefined): InstanceType<typeof TextDecoder> | undefined {
  const name = label?.trim();
  return name !== undefined && isEncoding(name) ? new TextDecoder(name) : undefined;
}

function decodedAs(encoding: string, bytes: Buffer): DecodedText {
  return { text: storable(new TextDecoder(encoding).decode(bytes)), encoding };
}

function titleOf(text: string): string | undefined {
  const structure = new StructureWriter(new BlockWriter());
  const head = /<title[^>]{0,200}>[^<]{0,2000}<\/title>/i.exec(text.slice(0, HEAD_LENGTH))?.[0];
  if (head === undefined) return undefined;
  const { title } = readHtmlInto(head, structure);
  return title === '' ? undefined : title;
}
