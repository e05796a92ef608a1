import type { EarlierText } from '../store/preface.repository.js';

/** What is kept of a single text. */
export const LONGEST_TEXT = 4_000;

const SPEAKERS = { USER: 'User', ASSISTANT: 'Assistant' } as const;

/**
 * What was said in earlier runs of the session, oldest first, as one text of at most so many bytes: the newest texts
 * that fit. Undefined when there is none.
 */
export function prefaceOf(newestFirst: readonly EarlierText[], bytes: number): string | undefined {
  let room = bytes;
  const kept: string[] = [];
  for (const { role, content } of newestFirst) {
    const text = `${SPEAKERS[role]}: ${shortened(content)}`;
    room -= Buffer.byteLength(text) + SEPARATOR.length;
    if (room < 0) break;
    kept.unshift(text);
  }
  return kept.length === 0 ? undefined : kept.join(SEPARATOR);
}

const SEPARATOR = '\n\n';

function shortened(content: string): string {
  if (content.length < LONGEST_TEXT) return content;
  return `${content.slice(0, LONGEST_TEXT - 1).toWellFormed()}…`;
}
