import type { SourceDocument } from '../../../fragment/splitter/index.js';

/** What the reader of a format is given. */
export interface SourceFile {
  readonly bytes: Buffer;
  /** With its suffix, which gives the kind of a text. */
  readonly name: string;
}

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
