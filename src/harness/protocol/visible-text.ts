/** Control, format (also the marks that turn the direction of text round), surrogate and unassigned characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}]/gu;

/** The text with every character that cannot be seen as U+XXXX. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/**
 * The text as one line that hides nothing: line ends show as ⏎, because they separate commands, and what cannot be seen
 * shows as U+XXXX.
 */
export function visibleLine(text: string): string {
  const line = text.trim().replaceAll(/\s*(?:\r\n|[\n\r\u2028\u2029])\s*/g, ' ⏎ ');
  return withoutInvisible(line.replaceAll(/\s+/g, ' '));
}

/** The line with at most so many characters; what is left out of its middle is counted. */
export function shortened(line: string, longest: number): string {
  const characters = [...line];
  if (characters.length <= longest) return line;
  const head = Math.ceil(longest * 0.75);
  const tail = longest - head;
  const [first, last] = [characters.slice(0, head), characters.slice(-tail)];
  return `${first.join('')} […${characters.length - longest} characters left out…] ${last.join('')}`;
}
