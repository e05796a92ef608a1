import type { Plan } from './plan.js';

/**
 * The plan as a person reads it before the approval, in Markdown. All text of the model is escaped: whatever it says,
 * headings, lists and their order are ours, and nothing in it becomes a link, an image, HTML or a hidden character.
 */
export function planMarkdown({ summary, steps, files, risks, revision }: Plan): string {
  const numbered = steps.map(({ text }, index) => `${index + 1}. ${plain(text)}`);
  return [
    `# Plan, version ${revision}`,
    plain(summary),
    section('Steps', numbered),
    section(
      'Files that may be created and edited',
      files.map((path) => `- ${plain(path)}`),
    ),
    section(
      'Risks',
      risks.map((risk) => `- ${plain(risk)}`),
    ),
  ].join('\n\n');
}

function section(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.length === 0 ? 'None.' : lines.join('\n')}`;
}

/** Every ASCII punctuation character may be escaped (CommonMark 0.31, 2.4); these can mean something. */
const MEANINGFUL = /[\\`*_{}[\]()<>#+\-=|~!&$:@^"']/g;
/** What would begin a numbered list. */
const NUMBERING = /^(\d+)([.)])/;
/** Bare addresses become links in some readers. */
const ADDRESS = /\bwww\./gi;
/** Control, format (also the marks that turn the direction of text round), surrogate and unassigned characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}]/gu;

/** The text as one line that means itself; what cannot be seen shows as U+XXXX. */
export function plain(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(MEANINGFUL, (character) => `\\${character}`)
    .replace(NUMBERING, '$1\\$2')
    .replaceAll(ADDRESS, (start) => `${start.slice(0, -1)}\\.`)
    .replaceAll(INVISIBLE, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    });
}
