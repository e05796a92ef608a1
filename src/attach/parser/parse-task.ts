import type { FragmentDraft, SourceKind, SplitSettings } from '../../fragment/splitter/index.js';
import type { ReadLimits } from './format/document-source.js';

/** What a parser process is asked. */
export interface ParseTask {
  /** Of the file to read. */
  readonly path: string;
  /** As the owner knows it. */
  readonly name: string;
  readonly settings: SplitSettings;
  readonly limits: ReadLimits;
}

/** A document as fragments. */
export interface ParsedDocument {
  readonly fragments: readonly FragmentDraft[];
  /** Label of the text encoding that was found (WHATWG), for files that are text. */
  readonly encoding?: string;
  readonly kind: SourceKind;
  /** For formats that have pages. */
  readonly pages?: number;
  /** Of the whole text, in UTF-16 code units. */
  readonly characters: number;
  /** The beginning of the text. */
  readonly sample?: string;
}

/** What a parser process answers: fragments in several messages, so that none of them blocks the reader. */
export type ParseAnswer =
  { readonly type: 'fragments'; readonly fragments: readonly FragmentDraft[] } | ParseEnd;

/** The last answer to a task. */
export type ParseEnd = ParseOutcome & {
  /** The process has grown so much that the next document should have a fresh one. */
  readonly grown: boolean;
};

export type ParseOutcome =
  | { readonly type: 'parsed'; readonly document: Omit<ParsedDocument, 'fragments'> }
  /** The document cannot be parsed; the reason is for its owner. */
  | { readonly type: 'refused'; readonly reason: string }
  /** A reader broke down over the document; the cause is for the log. */
  | { readonly type: 'broken'; readonly reason: string; readonly cause: string };
