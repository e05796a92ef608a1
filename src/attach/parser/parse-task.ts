import type { Message } from '../../platform/message/index.js';
import type { FragmentDraft, SourceKind, SplitSettings } from '../../fragment/splitter/index.js';
import type { ReadLimits, RecognisedPages } from './format/document-source.js';
import type { PageImage } from './format/page-image.js';

/** A task for a parser process. */
export type ParserTask = ParseTask | RenderTask;

export interface ParseTask {
  readonly type: 'parse';
  /** Path of the file to read. */
  readonly path: string;
  /** File name as the owner uploaded it. */
  readonly name: string;
  readonly settings: SplitSettings;
  readonly limits: ReadLimits;
  /** Text recognition is on, and has read these pages so far. */
  readonly recognised?: RecognisedPages;
}

/** Asks for the images of pages. */
export interface RenderTask {
  readonly type: 'render';
  /** Path of the file to read. */
  readonly path: string;
  readonly name: string;
  readonly pages: readonly number[];
  /** Length of the longer side of the image, in pixels. */
  readonly longestSide: number;
}

/** A document as fragments. */
export interface ParsedDocument {
  readonly fragments: readonly FragmentDraft[];
  /** Label of the text encoding that was found (WHATWG), for files that are text. */
  readonly encoding?: string;
  readonly kind: SourceKind;
  /** Number of pages, for formats that have pages. */
  readonly pages?: number;
  /** Length of the whole text, in UTF-16 code units. */
  readonly characters: number;
  /** The beginning of the text. */
  readonly sample?: string;
}

/** Pages that hold no text, and whose images are not read yet. */
export interface UnreadDocument {
  readonly pages: readonly number[];
  /** Number of pages of the whole document. */
  readonly total: number;
}

/** Messages of a parser process. Fragments and images are split into several, so that none blocks the reader. */
export type ParseAnswer =
  | { readonly type: 'fragments'; readonly fragments: readonly FragmentDraft[] }
  | { readonly type: 'image'; readonly image: PageImage }
  | ParseEnd;

/** The last answer to a task. */
export type ParseEnd = ParseOutcome & {
  /** The process has grown so much that the next document should have a fresh one. */
  readonly grown: boolean;
};

export type ParseOutcome =
  | { readonly type: 'parsed'; readonly document: Omit<ParsedDocument, 'fragments'> }
  | { readonly type: 'unread'; readonly unread: UnreadDocument }
  | { readonly type: 'rendered' }
  /** The document cannot be parsed; the reason is for its owner. */
  | { readonly type: 'refused'; readonly reason: Message }
  /** The document is of a format that LibreOffice may convert; the reason stands where it cannot. */
  | { readonly type: 'foreign'; readonly reason: Message; readonly to: 'docx' | 'pdf' }
  /** A reader broke down over the document; the cause is for the log. */
  | { readonly type: 'broken'; readonly reason: Message; readonly cause: string };
