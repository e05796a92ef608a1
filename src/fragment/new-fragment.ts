import { randomInt } from 'node:crypto';
import type { AnalysedText } from './keyword/text-analysis.js';
import type { FragmentDraft } from './splitter/index.js';

/** A fragment that is about to be stored under an id of `reserveIds`. */
export interface NewFragment extends FragmentDraft {
  readonly id: number;
  /** Running number in the document, from 0. */
  readonly idx: number;
  /** A line that a model wrote about it. */
  readonly context?: string | null;
  readonly analysed: AnalysedText;
}

/** The document whose fragments they are. */
export interface DocumentScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly docId: string;
}

/** Separator of the headings of a fragment, outermost first, in a single text. */
export const HEADING_SEPARATOR = ' > ';

/**
 * Text of a fragment in both search channels: its content, below its context and the headings that it does not contain.
 */
export function searchableText({
  content,
  headings,
  context = null,
}: {
  readonly content: string;
  readonly headings: readonly string[];
  readonly context?: string | null;
}): string {
  const missing = headings.filter((heading) => !content.includes(heading));
  const above = missing.length === 0 ? [] : [missing.join(HEADING_SEPARATOR)];
  return [...(context === null ? [] : [context]), ...above, content].join('\n\n');
}

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 10;

/** Ten random characters of a-z and 0-9, by which clients name a document (docId) or a fragment (fid). */
export function randomName(): string {
  return Array.from({ length: LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
}
