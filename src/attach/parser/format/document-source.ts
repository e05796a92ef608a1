import type { SourceDocument } from '../../../fragment/splitter/index.js';

/** What the reader of a format is given. */
export interface SourceFile {
  readonly bytes: Buffer;
  /** With its suffix, which gives the kind of a text. */
  readonly name: string;
}

/** The text of a page that holds none, as text recognition has read it from its image. */
export interface RecognisedPage {
  readonly format: 'text' | 'markdown';
  readonly text: string;
}

/** By their numbers, from 1; an image file is one page. */
export type RecognisedPages = ReadonlyMap<number, RecognisedPage>;

/** More than this ends the reading with a Refusal that names the limit. */
export interface ReadLimits {
  readonly pages: number;
  /** Bytes of a zip format's parts, unpacked. */
  readonly unpackedBytes: number;
}

export interface ReadDocument {
  readonly source: SourceDocument;
  /** Label of the encoding, for files that are text. */
  readonly encoding?: string;
  readonly pages?: number;
}

/** Why a document cannot be parsed, in words for its owner: what is wrong and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Pages that hold no text, and whose images were not read yet. */
export class UnreadPages extends Error {
  override readonly name = 'UnreadPages';

  constructor(
    readonly pages: readonly number[],
    /** Of the whole document. */
    readonly total: number,
  ) {
    super(`${pages.length} of ${total} pages hold no text.`);
  }
}
