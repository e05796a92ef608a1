/** A line with what ends it; only the last line of a text may have no end. */
export interface Line {
  readonly text: string;
  readonly end: '' | '\n' | '\r\n';
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

/** The lines without what ends them. */
export function textsOf(text: string): string[] {
  return linesOf(text).map((line) => line.text);
}

/** Lines that occur more often say nothing about a place, and following each of them would take long. */
const MOST_ALIKE = 50;

/** Where a line is, by its index; nowhere if it occurs more than 50 times. */
export type Places = (line: string) => readonly number[];

export function placesOf(lines: readonly string[]): Places {
  const places = new Map<string, number[]>();
  for (const [at, line] of lines.entries()) {
    const known = places.get(line);
    if (!known) places.set(line, [at]);
    else if (known.length <= MOST_ALIKE) known.push(at);
  }
  return (line) => {
    const found = places.get(line) ?? [];
    return found.length > MOST_ALIKE ? [] : found;
  };
}
