import { crc32 } from 'node:zlib';
import { msg } from '../../platform/message/index.js';
import { isRecord, textIn, parseJson } from './vendor-json.js';
import { tooLarge } from './model-call.js';
import { protocolError } from './upstream.error.js';

/** The type of answers in the binary framing of AWS. */
export const AWS_EVENT_STREAM = /^application\/vnd\.amazon\.eventstream\b/i;

/** Lengths of the frame and of its headers, and a checksum of both; another one ends the frame. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** An event of the largest size that is accepted, in base64. */
const MAX_FRAME_BYTES = 1_500_000;

/**
 * The events of an answer in the framing of AWS (Smithy, Amazon Event Stream Specification, 2026-11) as `text/event-stream`. Each chunk
 * of Bedrock holds an event of the model's own protocol; an exception becomes an event `error`. Throws UpstreamError (protocol) for
 * what is no such stream.
 */
export async function* serverSentEvents(
  body: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, void> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const bytes of body) {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    let events = '';
    let start = 0;
    for (let end = endOfFrame(pending, start); end > 0; end = endOfFrame(pending, start)) {
      events += eventOf(pending.subarray(start, end));
      start = end;
    }
    pending = pending.subarray(start);
    if (events !== '') yield Buffer.from(events);
  }
}

/** The end of the frame that begins at `start`; 0 while it is incomplete. */
function endOfFrame(bytes: Buffer, start: number): number {
  if (bytes.length - start < PRELUDE_BYTES) return 0;
  const length = bytes.readUInt32BE(start);
  if (length > MAX_FRAME_BYTES) throw tooLarge();
  if (length < PRELUDE_BYTES + CHECKSUM_BYTES) throw damaged();
  return bytes.length - start < length ? 0 : start + length;
}

function eventOf(frame: Buffer): string {
  const checked = frame.length - CHECKSUM_BYTES;
  if (crc32(frame.subarray(0, checked)) !== frame.readUInt32BE(checked)) throw damaged();
  const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4);
  if (headersEnd > checked) throw damaged();
  const headers = headersIn(frame.subarray(PRELUDE_BYTES, headersEnd));
  const payload = frame.subarray(headersEnd, checked).toString();
  if (headers.get(':message-type') !== 'event') return errorEvent(headers, payload);
  const chunk = parseJson(payload);
  const encoded = isRecord(chunk) ? textIn(chunk, 'bytes') : undefined;
  if (encoded === undefined) return '';
  const event = parseJson(Buffer.from(encoded, 'base64').toString());
  const type = isRecord(event) ? textIn(event, 'type') : undefined;
  // Events without a type only keep the connection open.
  return type === undefined ? '' : written(type, event);
}

function errorEvent(headers: ReadonlyMap<string, string>, payload: string): string {
  const type = headers.get(':exception-type') ?? headers.get(':error-code') ?? 'error';
  const payloadJson = payload.startsWith('{') ? parseJson(payload) : undefined;
  const message =
    (isRecord(payloadJson) && textIn(payloadJson, 'message')) || headers.get(':error-message');
  return written('error', { type: 'error', error: { type, message: message ?? type } });
}

function written(type: string, event: unknown): string {
  return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Bytes of a value by its type; that of bytes and texts says its length itself. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16] as const;
const TEXT = 7;

function headersIn(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  try {
    for (let at = 0; at < bytes.length;) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const name = bytes.toString('utf8', at + 1, nameEnd);
      const type = bytes.readUInt8(nameEnd);
      const fixed = VALUE_BYTES[type];
      if (fixed === undefined) throw damaged();
      const begin = nameEnd + (fixed < 0 ? 3 : 1);
      const length = fixed < 0 ? bytes.readUInt16BE(nameEnd + 1) : fixed;
      if (type === TEXT) headers.set(name, bytes.toString('utf8', begin, begin + length));
      at = begin + length;
    }
  } catch {
    throw damaged();
  }
  return headers;
}

function damaged(): Error {
  return protocolError(msg`The provider sent a damaged event.`);
}
