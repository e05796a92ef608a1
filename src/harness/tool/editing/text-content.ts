import { ToolError } from '../../fault/tool.error.js';
import { utf8Text } from '../../workspace/utf8-text.js';

/** A line with what ends it; only the last line of a text may have no end. */
export interface Line {
  readonly text: string;
  readonly end: '' | '\n' | '\r\n';
}

/** A text file's content; the byte order mark at its beginning is kept apart, so that line 1 begins with its text. */
export interface TextContent {
  readonly mark: '' | '\ufeff';
  readonly text: string;
}

/** NOT_TEXT unless the bytes are UTF-8 without NUL characters. `name` is the path as it is told to the model. */
export function decodeText(bytes: Uint8Array, name: string): TextContent {
  const whole = utf8Text(bytes);
  if (whole === undefined) {
    throw new ToolError(
      'NOT_TEXT',
      `${name} is not UTF-8 text and cannot be edited. Use write_file to replace it as a whole, or leave it.`,
    );
  }
  return whole.startsWith('\ufeff')
    ? { mark: '\ufeff', text: whole.slice(1) }
    : { mark: '', text: whole };
}

export function encodeText({ mark, text }: TextContent): Buffer {
  return Buffer.from(mark + text);
}

/** Only `\n` and `\r\n` end a line. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
    const isPair = at > start && text.charCodeAt(at - 1) === 13;
    lines.push({ text: text.slice(start, isPair ? at - 1 : at), end: isPair ? '\r\n' : '\n' });
    start = at + 1;
  }
  if (start < text.length) lines.push({ text: text.slice(start), end: '' });
  return lines;
}

export function joinLines(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('');
}

/** The number of the line, from 1, that holds the position. */
export function lineNumberAt(text: string, position: number): number {
  let number = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
    number += 1;
  }
  return number;
}

/** The line without spaces and tabs at its end. A pattern would take quadratic time for a run of spaces inside of a line. */
export function withoutTrailing(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\r'.includes(line.charAt(end - 1))) end -= 1;
  return line.slice(0, end);
}

/** The spaces and tabs that a line begins with. */
export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}
