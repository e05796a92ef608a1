/** Matches definitions of links and footnotes, which are added to every block that uses them. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LIST_ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
const INDENTED = /^(?: {2,}|\t)/;

/**
 * Splits text into blocks that can be parsed separately, so that only the last block of a growing text is parsed again.
 * Code fences, formulas and lists are not split.
 */
export function blocksOf(text: string): string[] {
  if (DEFINITION.test(text)) return [text];
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence = '';
  let isFormula = false;
  let isList = false;
  let isAfterBlank = false;
  const close = (): void => {
    if (lines.length > 0) blocks.push(lines.join('\n'));
    lines = [];
    isList = false;
  };
  for (const line of text.split('\n')) {
    if (fence !== '') {
      lines.push(line);
      if (!endsFence(line, fence)) continue;
      fence = '';
      if (!isList) close();
      continue;
    }
    if (isFormula) {
      lines.push(line);
      if (line.includes('$$')) isFormula = false;
      continue;
    }
    if (line.trim() === '') {
      lines.push(line);
      isAfterBlank = true;
      continue;
    }
    const isItem = LIST_ITEM.test(line);
    const goesOn = INDENTED.test(line) || (isList && isItem);
    const opened = (isList ? /^\s*(`{3,}|~{3,})/ : FENCE).exec(line)?.[1];
    if ((isAfterBlank && !goesOn) || (opened !== undefined && !isList)) close();
    isAfterBlank = false;
    if (lines.length === 0) isList = isItem;
    lines.push(line);
    if (opened !== undefined) fence = opened;
    else isFormula = count(line, '$$') % 2 === 1;
  }
  close();
  return blocks;
}

/** A fence ends with a line of at least as many of its characters and nothing else. */
function endsFence(line: string, fence: string): boolean {
  const end = line.trim();
  return end.length >= fence.length && end === (fence[0] ?? '').repeat(end.length);
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Matches code spans and possible formulas outside of them. */
const CODE_OR_FORMULA =
  /(`+)[^`](?:[\s\S]*?[^`])?\1(?!`)|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]|^[ \t]*\$\$(.+)\$\$[ \t]*$|(?<![\\$\w])\$(?![\s$])([^$\n`]*[^$\s\\`]|[^$\s\\`])\$(?![\d$])/gm;

/**
 * Rewrites the formulas of a block to double dollars, the only supported delimiter: `\(…\)`, `\[…\]` and `$…$`
 * if it cannot be a price.
 */
export function withFormulas(block: string): string {
  if (FENCE.test(block)) return block;
  return block.replaceAll(
    CODE_OR_FORMULA,
    (all, ...[, inline, display, line, single]: readonly (string | undefined)[]) => {
      if (inline !== undefined) return `$$${inline.trim()}$$`;
      if (display !== undefined) return `\n$$\n${display.trim()}\n$$\n`;
      if (line !== undefined) return `\n$$\n${line.trim()}\n$$\n`;
      if (single !== undefined) return `$$${single}$$`;
      return all;
    },
  );
}

export function hasFormula(text: string): boolean {
  return text.includes('$') || text.includes('\\(') || text.includes('\\[');
}
