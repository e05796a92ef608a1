import { msg } from '../../../../platform/message/index.js';
import { Refusal } from '../document-source.js';
import { likeliestEncoding } from './encoding-likelihood.js';

export interface DecodedText {
  /** Line ends are LF; without NUL characters and single surrogates, which PostgreSQL cannot store. */
  readonly text: string;
  /** Label of the WHATWG Encoding standard, such as utf-8 or gb18030. */
  readonly encoding: string;
}

/** Bytes that are looked at to find an encoding. */
const SAMPLE_BYTES = 16_384;

/** Share of characters that may be broken or control characters in what is still taken for text. */
const BROKEN_SHARE = 0.01;

/** Maximum invalid characters in a text that counts as UTF-8, as a share of its valid non-ASCII characters. */
const STRAY_SHARE = 0.1;

/** Characters beyond ASCII below which bytes of another encoding may look like UTF-8 by chance. */
const MIN_UTF8_CHARS = 8;

/** Share of spaces, line ends, ASCII and Chinese commas in what is taken for UTF-16. */
const FAMILIAR_SHARE = 0.02;

const marks: readonly (readonly [string, readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/**
 * Reads text of unknown encoding: by its byte order mark, else as UTF-16 or UTF-8 where that fits, else in the likeliest
 * of the older encodings. Throws Refusal for what is no text in any of them.
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const content = withoutPadding(bytes);
  const decoded = byMark(content) ?? asUtf16(content) ?? asUtf8(content) ?? byLikelihood(content);
  refuseBinary(decoded.text);
  return { text: storable(decoded.text), encoding: decoded.encoding };
}

/** Text as it can be stored and split: line ends are LF, no NUL characters, no single surrogates. */
export function storable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replaceAll('\0', '').toWellFormed();
}

/** Strips the zeros of a log that a crash cut off and the end-of-file mark of DOS. */
function withoutPadding(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0 || bytes[end - 1] === 0x1a)) end -= 1;
  // The last character of UTF-16 ends with a zero of its own.
  return bytes.subarray(0, end % 2 === 1 && bytes[end] === 0 ? end + 1 : end);
}

function byMark(bytes: Uint8Array): DecodedText | undefined {
  const mark = marks.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  return mark && decode(mark[0], bytes);
}

/** UTF-16 without a byte order mark is detected by zero bytes, which Western text, digits and line ends are full of. */
function asUtf16(bytes: Uint8Array): DecodedText | undefined {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  if (!sample.includes(0)) return undefined;
  const readings = ['utf-16le', 'utf-16be']
    .map((label) => ({ label, text: new TextDecoder(label).decode(sample) }))
    .filter(({ text }) => matches(text, /[^\P{C}\t\n\r\f]/gu) <= text.length * BROKEN_SHARE)
    .map(({ label, text }) => ({
      label,
      familiar: matches(text, /[\t\n\r -~\u3000-\u3002\uff0c]/g),
    }))
    .sort((a, b) => b.familiar - a.familiar);
  const [best] = readings;
  return best && best.familiar > (sample.length / 2) * FAMILIAR_SHARE
    ? decode(best.label, bytes)
    : undefined;
}

/** Strictly, or with what was pasted into it from files of an older encoding. */
function asUtf8(bytes: Uint8Array): DecodedText | undefined {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'utf-8' };
  } catch {
    return asMixedUtf8(bytes);
  }
}

interface Line {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly broken: number;
  /** Characters beyond ASCII. */
  readonly intact: number;
}

/**
 * UTF-8 with bytes of an older encoding in it. Lines that are mostly UTF-8 keep it, and their other bytes are read as
 * Windows-1252; the others are read together, in their likeliest encoding.
 */
function asMixedUtf8(bytes: Uint8Array): DecodedText | undefined {
  const { text: whole } = decode('utf-8', bytes);
  const strays = count(whole, (code) => code === 0xfffd);
  const characters = count(whole, (code) => code > 0x7f) - strays;
  if (characters < MIN_UTF8_CHARS || strays > characters * 2) return undefined;
  const lines = linesOf(bytes);
  if (!isMixedUtf8(lines)) return undefined;
  const isForeign = ({ broken, intact }: Line) => broken > Math.max(1, intact);
  const foreign = Buffer.concat(lines.filter(isForeign).map((line) => line.bytes));
  const label = foreign.length > 0 ? likeliestEncoding(foreign.subarray(0, SAMPLE_BYTES)) : 'utf-8';
  const older = new TextDecoder(label);
  const text = lines.map((line) => {
    if (isForeign(line)) return older.decode(line.bytes);
    return line.broken === 0 ? line.text : withStrayBytes(line.bytes);
  });
  return { text: text.join(''), encoding: 'utf-8' };
}

/** Two or three characters of an older encoding may look like UTF-8, but hardly more, and hardly whole lines. */
function isMixedUtf8(lines: readonly Line[]): boolean {
  const sum = (part: readonly Line[], of: (line: Line) => number) =>
    part.reduce((total, line) => total + of(line), 0);
  const broken = sum(lines, (line) => line.broken);
  const intact = sum(lines, (line) => line.intact);
  const inWholeLines = sum(
    lines.filter((line) => line.broken === 0),
    (line) => line.intact,
  );
  if (intact >= MIN_UTF8_CHARS && broken <= Math.max(1, intact * STRAY_SHARE)) return true;
  return inWholeLines >= 20 && broken <= inWholeLines * 2;
}

function linesOf(bytes: Uint8Array): Line[] {
  const lines: Line[] = [];
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    const line = bytes.subarray(start, end);
    const text = decoder.decode(line);
    const broken = count(text, (code) => code === 0xfffd);
    lines.push({ bytes: line, text, broken, intact: count(text, (code) => code > 0x7f) - broken });
    start = end;
  }
  return lines;
}

/** UTF-8 whose other bytes are characters of Windows-1252. */
function withStrayBytes(bytes: Uint8Array): string {
  const older = new TextDecoder('windows-1252');
  let text = '';
  let start = 0;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    if (length === 0) {
      text += decoder.decode(bytes.subarray(start, at)) + older.decode(bytes.subarray(at, at + 1));
      start = at + 1;
    }
    at += Math.max(1, length);
  }
  // A character that the end of a file cut is no character of another encoding.
  return text + decoder.decode(bytes.subarray(start));
}

/** Length of the UTF-8 character at an offset, in bytes; 0 if invalid. A character cut by the end counts up to it. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (let next = at + 1; next < at + length; next += 1) {
    if (next >= bytes.length) return next - at > 1 ? bytes.length - at : 0;
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

function byLikelihood(bytes: Uint8Array): DecodedText {
  return decode(likeliestEncoding(tellingSample(bytes)), bytes);
}

/** The first lines that are not ASCII alone. All encodings in question keep the line feed for itself. */
function tellingSample(bytes: Uint8Array): Uint8Array {
  const lines: Uint8Array[] = [];
  let size = 0;
  for (let start = 0; start < bytes.length && size < SAMPLE_BYTES;) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    const telling = firstTellingByte(bytes, start, end);
    if (telling < end) {
      // The slice starts outside the ASCII part of a long line, at a space, so that no character is cut.
      const from = Math.max(start, bytes.lastIndexOf(0x20, Math.max(0, telling - 200)));
      const line = bytes.subarray(from, Math.min(end, from + SAMPLE_BYTES - size));
      lines.push(line);
      size += line.length;
    }
    start = end;
  }
  return Buffer.concat(lines);
}

function firstTellingByte(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] ?? 0) < 0x80) at += 1;
  return at;
}

function refuseBinary(text: string): void {
  if (count(text, isBroken) <= Math.max(1, text.length * BROKEN_SHARE)) return;
  throw new Refusal(
    msg`The file is not text but binary data of an unknown format. Save it as text, PDF, .docx or .xlsx and upload that.`,
  );
}

/** Control characters but white space, backspace and escape, which logs have; and what could not be decoded. */
function isBroken(code: number): boolean {
  if (code === 0xfffd || code === 0x7f) return true;
  return code < 0x20 && (code < 0x08 || code > 0x0d) && code !== 0x1b;
}

function count(text: string, condition: (code: number) => boolean): number {
  let matchCount = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (condition(text.charCodeAt(index))) matchCount += 1;
  }
  return matchCount;
}

function matches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function decode(encoding: string, bytes: Uint8Array): DecodedText {
  return { text: new TextDecoder(encoding).decode(bytes), encoding };
}
