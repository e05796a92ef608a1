import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { v7 } from 'uuid';

/** A new id of a harness record: UUID version 7, so that ids sort by the time they were made (RFC 9562). */
export function newId(): string {
  return v7();
}

/** SHA-256 as lower-case hex, of the bytes or of the text as UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Tells whether a repeated key comes with the same request: what is not given counts like null. */
export function requestHash(fields: readonly unknown[]): string {
  return sha256(JSON.stringify(fields));
}

/** The bytes as text, a byte order mark included; undefined for binary content and for other encodings. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first bytes of the text, without a split character at its end. */
export function firstBytes(text: string, bytes: number): string {
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}

/** The first whole lines of a text that fit into the bytes. */
export function cutLines(text: string, limitBytes: number): { text: string; cut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return { text, cut: false };
  const end = bytes.lastIndexOf(0x0a, limitBytes - 1) + 1;
  if (end > 0) return { text: bytes.toString('utf8', 0, end), cut: true };
  // The first line alone is too long.
  return { text: firstBytes(text, limitBytes), cut: true };
}

/**
 * Control, format (also the marks that turn the direction of text round), surrogate and unassigned characters, those that
 * fonts draw as nothing (fillers, variation selectors, joiners), blank ones (braille, hieroglyphs, musical notation), and
 * every space but the usual one: a shell does not separate words at the others. U+FE0F after a sign such as ⚠ is seen: it
 * turns the sign into an emoji.
 */
const INVISIBLE =
  /(?!(?<=(?![\d#*]|\p{Emoji_Presentation})\p{Emoji})\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}]|\u{16fe4}|(?! )\p{Z}/gu;

/** The marks that the server puts into a line: in the text of a model or a user they show as U+XXXX. */
const MARKS = /[⏎⟨]|(?<=\[)…/g;

/** The text with every character that cannot be seen as U+XXXX; nothing else is changed in one that was made visible. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, codeOf);
}

/** The same for a text that the server has not made: what looks like a mark of the server shows as U+XXXX, too. Not to be done twice. */
export function visibleText(text: string): string {
  return withoutInvisible(text.replaceAll(MARKS, codeOf));
}

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/**
 * The text as one line that hides nothing: line ends show as ⏎, because they separate commands, and what cannot be seen
 * shows as U+XXXX. No text can imitate these marks: in it they show as U+XXXX themselves.
 */
export function visibleLine(text: string): string {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => visibleText(line.replaceAll(/[ \t]+/g, ' ').replaceAll(/^ | $/g, '')))
    .filter((line) => line !== '')
    .join(' ⏎ ');
}

/** The line shortened to a number of characters; those omitted from its middle are counted. */
export function shortened(line: string, longest: number): string {
  const characters = [...line];
  if (characters.length <= longest) return line;
  const head = Math.ceil(longest * 0.75);
  const tail = longest - head;
  const [first, last] = [characters.slice(0, head), characters.slice(-tail)];
  return `${first.join('')} […${characters.length - longest} characters left out…] ${last.join('')}`;
}
