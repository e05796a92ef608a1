import { decompressRTF } from '@kenjiuno/decompressrtf';
import outlook from '@kenjiuno/msgreader';
import type { FieldsData } from '@kenjiuno/msgreader';
import { deEncapsulateSync } from 'rtf-stream-parser';
import type { Address, Attachment, Email } from 'postal-mime';
import { damaged } from './document-source.js';
import { decodeMarkup } from './html.format.js';
import { readRtf } from './rtf.format.js';
import { encodingOfCodePage } from './text/encoding-likelihood.js';

const { default: MsgReader } = outlook;

/** Attachments that are read; more are not named. */
const MAX_ATTACHMENTS = 1_000;

/** The parts of a mail that are written, whichever program created it. */
export type Mail = Pick<
  Email,
  'subject' | 'from' | 'to' | 'cc' | 'date' | 'html' | 'text' | 'attachments'
>;

/** An Outlook message (.msg) as a mail. Throws Refusal for one that is damaged. */
export async function parseOutlookMessage(bytes: Buffer): Promise<Mail> {
  try {
    const reader = new MsgReader(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const fields = reader.getFileData();
    if (fields.error !== undefined) throw new Error(fields.error);
    const sender = addressOf(fields.senderName, fields.senderSmtpAddress ?? fields.senderEmail);
    const date = fields.messageDeliveryTime ?? fields.clientSubmitTime ?? fields.creationTime;
    return {
      subject: fields.subject ?? '',
      ...(sender && { from: sender }),
      to: recipientsOf(fields, 'to'),
      cc: recipientsOf(fields, 'cc'),
      ...(date !== undefined && { date: isoOf(date) }),
      ...(await bodyOf(fields)),
      attachments: attachmentsOf(reader, fields),
    };
  } catch (error) {
    throw damaged(error);
  }
}

function addressOf(name: string | undefined, address: string | undefined): Address | undefined {
  // Within a company the address is a path of its directory.
  const mail = address?.includes('@') ? address : '';
  if (!name && mail === '') return undefined;
  return { name: name === mail ? '' : (name ?? ''), address: mail || (name ?? '') };
}

function recipientsOf({ recipients = [] }: FieldsData, type: 'to' | 'cc'): Address[] {
  return recipients
    .filter(({ recipType = 'to' }) => recipType === type)
    .map(({ name, smtpAddress, email }) => addressOf(name, smtpAddress ?? email))
    .filter((address) => address !== undefined);
}

function isoOf(date: string): string {
  const at = new Date(date);
  return Number.isNaN(at.getTime()) ? date : at.toISOString();
}

/** Outlook keeps the page as bytes, as text, within rich text, or not at all. */
async function bodyOf(fields: FieldsData): Promise<Pick<Mail, 'html' | 'text'>> {
  const text = fields.body ?? '';
  if (fields.html && fields.html.length > 0) {
    const label = encodingOfCodePage(fields.internetCodepage ?? 65_001);
    return { text, html: decodeMarkup(Buffer.from(fields.html), label).text };
  }
  if (fields.bodyHtml) return { text, html: fields.bodyHtml };
  if (!fields.compressedRtf) return { text };
  const rtf = Buffer.from(decompressRTF([...fields.compressedRtf]));
  const { html, plain } = await richTextOf(rtf);
  return { text: text === '' ? plain : text, ...(html !== '' && { html }) };
}

async function richTextOf(rtf: Buffer): Promise<{ readonly html: string; readonly plain: string }> {
  try {
    const { mode, text } = deEncapsulateSync(rtf, {
      decode: (bytes, encoding) => new TextDecoder(labelOf(encoding)).decode(bytes),
      mode: 'either',
    });
    return mode === 'html' ? { html: String(text), plain: '' } : { html: '', plain: String(text) };
  } catch {
    // Rich text that holds no page.
    return { html: '', plain: (await readRtf(rtf)).text };
  }
}

/** The names that the library has for encodings: cp1252. */
function labelOf(name: string): string {
  const page = /^cp(\d+)$/.exec(name)?.[1];
  return (page === undefined ? undefined : encodingOfCodePage(Number(page))) ?? 'windows-1252';
}

function attachmentsOf(reader: InstanceType<typeof MsgReader>, fields: FieldsData): Attachment[] {
  const attachments = (fields.attachments ?? []).slice(0, MAX_ATTACHMENTS);
  return attachments.map((attachment): Attachment => {
    const { fileName, content } = reader.getAttachment(attachment);
    const isMessage = attachment.innerMsgContent === true;
    return {
      filename: isMessage ? null : fileName,
      mimeType: isMessage ? 'message/rfc822' : (attachment.attachMimeTag ?? typeOfName(fileName)),
      disposition: 'attachment',
      ...((attachment.attachmentHidden ?? false) && { related: true }),
      content: new Uint8Array(content).buffer,
    };
  });
}

/** Outlook names the type of few attachments. */
function typeOfName(name: string): string {
  const suffix = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const types: Readonly<Record<string, string>> = {
    txt: 'text/plain',
    csv: 'text/csv',
    htm: 'text/html',
    html: 'text/html',
    eml: 'message/rfc822',
    pdf: 'application/pdf',
  };
  return types[suffix] ?? 'application/octet-stream';
}
