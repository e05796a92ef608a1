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

/**
 * What means something anywhere in a line (CommonMark 0.31 and GitHub's extensions); every ASCII punctuation character may be
 * escaped. What can only mean something beside one of these is left as it is, so that people can read the source, too.
 */
const MEANINGFUL = /[\\`*[\]<|~$@#]/g;
/** Within a word it is nothing but itself. */
const UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
const ENTITY = /&(?=#?\w+;)/g;
/** Of an address, or of the name of a small picture. */
const COLON = /:(?=\/|[\w+-]+:)/g;
/** What would begin a list, a quotation, or the line below a heading. */
const OPENING = /^[+\-=>]/;
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
    .replaceAll(MEANINGFUL, '\\$&')
    .replaceAll(UNDERSCORE, '\\_')
    .replaceAll(ENTITY, '\\&')
    .replaceAll(COLON, '\\:')
    .replace(OPENING, '\\$&')
    .replace(NUMBERING, '$1\\$2')
    .replaceAll(ADDRESS, (start) => `${start.slice(0, -1)}\\.`)
    .replaceAll(INVISIBLE, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    });
}
