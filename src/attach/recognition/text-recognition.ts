import type { PageImage, RecognisedPage } from '../parser/index.js';

/** What was read from the image of a page, and its cost. */
export interface PageText {
  /** Empty for a page without text. */
  readonly text: string;
  /** Tokens of a model; 0 where none was called. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Reads the text of page images. Holds no state of a document; every call names its signal and has a time limit. What
 * fails in a way that may pass is repeated before it is thrown; a DomainError says what to do.
 */
export interface TextRecognition {
  readonly format: RecognisedPage['format'];
  /** Of the images it wants, in pixels. */
  readonly longestSide: number;
  /** Equal only for what reads the same image alike: what an earlier attempt has read is kept by it. */
  readonly key: string;
  read(image: PageImage, signal: AbortSignal): Promise<PageText>;
}
