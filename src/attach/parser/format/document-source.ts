import type { Message } from '../../../platform/message/index.js';
import { english, msg } from '../../../platform/message/index.js';
import type { SourceDocument } from '../../../fragment/splitter/index.js';

/** First bytes of OLE compound files [MS-CFB], in which Office kept its files before 2007 and keeps encrypted ones. */
export const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Input of a format reader. */
export interface SourceFile {
  readonly bytes: Buffer;
  /** File name with its suffix, which determines the kind of a text. */
  readonly name: string;
}

/** The text of a page that holds none, as text recognition has read it from its image. */
export interface RecognisedPage {
  readonly format: 'text' | 'markdown';
  readonly text: string;
}

/** Recognised pages by number, from 1; an image file is one page. */
export type RecognisedPages = ReadonlyMap<number, RecognisedPage>;

/** Limits beyond which reading ends with a Refusal that names the limit. */
export interface ReadLimits {
  /** Number of PDF pages, slides of a presentation or chapters of a book. */
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

/** Reason why a document cannot be parsed, in words for its owner: what is wrong and what to do. */
export class Refusal extends Error {
  constructor(
    readonly userMessage: Message,
    options?: { readonly cause: unknown },
  ) {
    super(english(userMessage), options);
    this.name = 'Refusal';
  }
}

/** A document of a format that is not read here, but that LibreOffice may convert where it is installed. */
export class ForeignDocument extends Refusal {
  constructor(
    reason: Message,
    readonly to: 'docx' | 'pdf',
  ) {
    super(reason);
  }
}

/** Pages that hold no text, and whose images were not read yet. */
export class UnreadPages extends Error {
  override readonly name = 'UnreadPages';

  constructor(
    readonly pages: readonly number[],
    /** Number of pages of the whole document. */
    readonly total: number,
  ) {
    super(`${pages.length} of ${total} pages hold no text.`);
  }
}

/**
 * The refusal of a file that does not unpack. The reason that zlib or the reader of zip files gives stands in it; that of
 * a mistake in a program does not, since it says nothing about the document.
 */
export function damaged(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const reason = isAboutFile(error) ? ` (${error.message.slice(0, 150)})` : '';
  return new Refusal(
    msg`The file is damaged, or its upload was cut off${reason}. Open it, save it again and upload the result.`,
  );
}

/** Errors of the language itself have a class of their own: TypeError, RangeError, ... */
function isAboutFile(error: unknown): error is Error {
  return error instanceof Error && Object.getPrototypeOf(error) === Error.prototype;
}

interface PageCount {
  readonly pages: number;
  /** Kind of document that has the pages: PDF, presentation, ... */
  readonly of: Message;
  /** Unit of the pages: pages, slides, ... */
  readonly unit: Message;
}

/** Throws Refusal. */
export function refuseTooManyPages({ pages, of, unit }: PageCount, limits: ReadLimits): void {
  if (pages <= limits.pages) return;
  throw new Refusal(
    msg`The ${of} has ${pages} ${unit}, the limit is ${limits.pages}. Split it into several files.`,
  );
}

export function nestedTooDeeply(): Refusal {
  return new Refusal(
    msg`The document is nested too deeply. Save it in a simpler form and upload that.`,
  );
}
