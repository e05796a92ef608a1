import { randomInt } from 'node:crypto';
import type { AnalysedText } from './keyword/text-analysis.js';
import type { FragmentDraft } from './splitter/index.js';

/** A fragment that is about to be stored under an id of `reserveIds`. */
export interface NewFragment extends FragmentDraft {
  readonly id: number;
  /** Running number in the document, from 0. */
  readonly idx: number;
  readonly analysed: AnalysedText;
}

/** The document whose fragments they are. */
export interface DocumentScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly docId: string;
}

/** Between the headings of a fragment, outermost first, where they are written as one text. */
export const HEADING_SEPARATOR = ' > ';

/** What stands for a fragment in both channels: its text, below the headings that it does not show itself. */
export function searchableText({
  content,
  headings,
}: {
  readonly content: string;
  readonly headings: readonly string[];
}): string {
  const missing = headings.filter((heading) => !content.includes(heading));
  return missing.length === 0 ? content : `${missing.join(HEADING_SEPARATOR)}\n\n${content}`;
}

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 10;

/** Ten random characters of a-z and 0-9, by which clients name a document (docId) or a fragment (fid). */
export function randomName(): string {
  return Array.from({ length: LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
}
