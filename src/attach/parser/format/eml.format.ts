import PostalMime from 'postal-mime';
import type { Address, Attachment } from 'postal-mime';
import { msg } from '../../../platform/message/index.js';
import { COMPOUND_FILE, Refusal } from './document-source.js';
import type { ReadDocument } from './document-source.js';
import { readHtmlInto } from './html-reader.js';
import { decodeMarkup, looksLikeHtml } from './html.format.js';
import type { Mail } from './msg.format.js';
import { StructureWriter } from './structure-writer.js';
import { BlockWriter, TableWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { readCsv } from './csv.format.js';

/** Bytes in which the headers of a mail are looked for. */
const HEAD_BYTES = 65_536;

/** Messages that are attached to each other. */
const MESSAGE_DEPTH = 5;

/** Parts within parts; mail programs need three or four. */
const PART_DEPTH = 50;

/** Names of people on a line at most; lists have thousands. */
const MAX_LINE_CHARS = 2_000;

/** Fields that every mail has or most have. */
const FIELDS = new Set([
  ...['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'received', 'return-path'],
  ...['cc', 'bcc', 'sender', 'delivered-to', 'reply-to', 'in-reply-to', 'references', 'x-mailer'],
  ...['content-type', 'content-transfer-encoding', 'thread-topic', 'list-id', 'dkim-signature'],
]);

/** Fields that only mail programs write. */
const PROGRAM_FIELDS = [
  ...['message-id', 'mime-version', 'received', 'return-path', 'delivered-to', 'x-mailer'],
  ...['dkim-signature', 'in-reply-to', 'content-transfer-encoding'],
];

/** The line between two mails of a mailbox (RFC 4155). */
const NEXT_MAIL = ['\n\nFrom ', '\r\n\r\nFrom '];

/**
 * Whether the first lines of a file are those of a mail (RFC 5322). Drafts and messages of programs may have no sender.
 * A file whose name is not that of a mail then needs two fields that only mail programs write.
 */
export function looksLikeMail(bytes: Buffer, isNamedMail: boolean): boolean {
  const head = bytes
    .subarray(0, HEAD_BYTES)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  // Some programs keep the line of a mailbox before a mail; a whole mailbox is read as text, so that no mail is lost.
  if (head.startsWith('From ') && NEXT_MAIL.some((line) => bytes.includes(line))) return false;
  const lines = head.replace(/^From .*\r?\n/, '').split(/\r?\n/);
  if (bytes.length > HEAD_BYTES) lines.pop();
  const names = new Set<string>();
  for (const line of lines) {
    if (line === '') break;
    const name = /^([!-9;-~]+):(?:\s|$)/.exec(line)?.[1];
    if (name !== undefined) names.add(name.toLowerCase());
    else if (!/^[ \t]/.test(line) || names.size === 0) return false;
  }
  const fields = [...names].filter((name) => FIELDS.has(name)).length;
  if (isNamedMail) return fields > 0;
  const byPrograms = PROGRAM_FIELDS.filter((name) => names.has(name)).length;
  const isMime = names.has('mime-version') && names.has('content-type');
  return fields >= 3 && (names.has('from') || isMime || byPrograms >= 2);
}

/**
 * A mail (MIME, or an Outlook message): subject, who sent it to whom and when, its text, and its attachments, of which those that are text are read
 * and the others are named.
 */
export async function readMail(bytes: Buffer): Promise<ReadDocument> {
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  await writeMail(bytes, { writer, structure }, 1);
  return { source: { kind: 'document', ...writer.end() } };
}

interface Target {
  readonly writer: BlockWriter;
  readonly structure: StructureWriter;
}

async function writeMail(bytes: Uint8Array, target: Target, level: number): Promise<void> {
  const mail = await parsed(bytes);
  const { structure } = target;
  structure.heading(storable(mail.subject ?? ''), level);
  structure.paragraph(storable(linesAbove(mail)));
  writeText(mail, structure);
  structure.end();
  for (const attachment of mail.attachments) await writeAttachment(attachment, target, level + 1);
}

async function parsed(bytes: Uint8Array): Promise<Mail> {
  if (Buffer.from(bytes.subarray(0, COMPOUND_FILE.length)).equals(COMPOUND_FILE)) {
    const { parseOutlookMessage } = await import('./msg.format.js');
    return parseOutlookMessage(Buffer.from(bytes));
  }
  try {
    const parser = new MailParser({
      forceRfc822Attachments: true,
      maxNestingDepth: PART_DEPTH,
      attachmentEncoding: 'arraybuffer',
    });
    return await parser.parse(bytes);
  } catch (error) {
    throw new Refusal(
      msg`The mail cannot be read: its headers are too large, or its parts are nested too deeply. Save it again, without attached messages, and upload the result.`,
      { cause: error },
    );
  }
}

/** The parts of a part, as postal-mime keeps them while it parses; its declarations leave them out. */
interface MimeNode {
  readonly content: ArrayBuffer | null;
  readonly contentType: {
    readonly parsed: {
      readonly value: string;
      readonly params: Record<string, string | undefined>;
    };
  };
}

interface MimeTree {
  collectNode(node: MimeNode, alternative: unknown, related: boolean): Promise<void>;
}

/**
 * Mails whose text is decoded by what it is: senders leave the charset out where the page in the mail names it, or write
 * one that is not that of their text.
 */
class MailParser extends PostalMime {
  collectNode(node: MimeNode, alternative: unknown, related: boolean): Promise<void> {
    const { value, params } = node.contentType.parsed;
    if (node.content && /^text\//i.test(value)) {
      params.charset = charsetOf(Buffer.from(node.content), params.charset);
    }
    const tree = Object.getPrototypeOf(MailParser.prototype) as MimeTree;
    return tree.collectNode.call(this, node, alternative, related);
  }
}

function charsetOf(bytes: Buffer, label: string | undefined): string | undefined {
  try {
    return decodeMarkup(bytes, label).encoding;
  } catch (error) {
    if (error instanceof Refusal) return label;
    throw error;
  }
}

function linesAbove({ from, to, cc, date }: Mail): string {
  const lines: readonly (readonly [string, string])[] = [
    ['From', namesOf(from && [from])],
    ['To', namesOf(to)],
    ['Cc', namesOf(cc)],
    ['Date', date ?? ''],
  ];
  return lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value.slice(0, MAX_LINE_CHARS)}`)
    .join('\n');
}

function namesOf(addresses: readonly Address[] = []): string {
  return addresses
    .map((entry) => {
      if (entry.group) return `${entry.name}: ${namesOf(entry.group)}`;
      return entry.name === '' ? entry.address : `${entry.name} <${entry.address}>`;
    })
    .join(', ');
}

/** The page rather than the text: both say the same, and the page has tables and headings. */
function writeText({ html, text }: Mail, structure: StructureWriter): void {
  structure.capture();
  if (html !== undefined) readHtmlInto(html, structure);
  const pieces = structure.release();
  if (pieces.length > 0) structure.put(pieces);
  else writeParagraphs(text ?? '', structure);
}

function writeParagraphs(text: string, structure: StructureWriter): void {
  for (const paragraph of storable(text).split(/\n[ \t]*\n/)) {
    structure.paragraph(paragraph.replace(/^\n+|\s+$/g, ''));
  }
}

async function writeAttachment(
  attachment: Attachment,
  target: Target,
  level: number,
): Promise<void> {
  const { structure } = target;
  const { mimeType, filename } = attachment;
  const bytes = Buffer.from(attachment.content as ArrayBuffer);
  const isMail = mimeType === 'message/rfc822';
  // Pictures of the text, such as the logo below a signature.
  if (attachment.related === true && (filename === null || mimeType.startsWith('image/'))) return;
  const name = storable(filename ?? (isMail ? 'Attached message' : 'Attachment without a name'));
  if (isMail && level <= MESSAGE_DEPTH) {
    await writeMail(bytes, target, level);
    return;
  }
  const text = mimeType.startsWith('text/') ? textOf(bytes) : undefined;
  if (text === undefined || text.trim() === '') {
    structure.paragraph(`Attachment: ${name} (${mimeType}, ${sizeOf(bytes.length)})`);
    return;
  }
  structure.heading(`Attachment: ${name}`, level);
  if (mimeType === 'text/html' || looksLikeHtml(text)) readHtmlInto(text, structure);
  else if (/csv|tab-separated/.test(mimeType)) writeTable(text, target.writer);
  else writeParagraphs(text, structure);
  structure.end();
}

/** Decoded text; undefined for an attachment that is declared as text but is not. */
function textOf(bytes: Buffer): string | undefined {
  try {
    return decodeMarkup(bytes).text;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function writeTable(text: string, writer: BlockWriter): void {
  const { text: written, blocks = [] } = readCsv(text);
  const table = new TableWriter(writer);
  for (const block of blocks) {
    if (!('row' in block)) continue;
    table.add(block.row, written.slice(block.start, block.end).split(' | '));
  }
  table.end();
}

function sizeOf(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 1_024)} KiB` : `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
