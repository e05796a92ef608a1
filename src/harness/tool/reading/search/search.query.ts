/** Where to look. */
export interface SearchScope {
  /** Absolute path of the workspace. */
  readonly root: string;
  /** The file or folder below it, '' for the whole; on the way to it lies no link. */
  readonly path: string;
  /** See Glob; relative to the path: only files that it fits or, after a `!`, those that it does not fit. */
  readonly glob?: string | undefined;
}

export interface TextQuery extends SearchScope {
  /** A regular expression, unless it is literal. */
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** Lines before and after each match. */
  readonly context: number;
}

export interface FilesQuery extends SearchScope {
  readonly glob: string;
}

/** A line as the search saw it. Whoever shows it reads it again by a safe way. */
export interface FoundLine {
  readonly path: string;
  /** From 1 on. */
  readonly line: number;
  /** Where the line begins in the file, in bytes. */
  readonly offset: number;
  readonly bytes: Buffer;
  readonly isMatch: boolean;
  /** Where the first match begins in the line, in bytes. */
  readonly column: number;
}

/**
 * Looks through files without following links. What it says is a hint that must be checked before it is shown; it may
 * hold more than the glob fits.
 */
export interface SearchEngine {
  /** File by file; ends with SearchStoppedError when there is too much. */
  lines(query: TextQuery, signal: AbortSignal): AsyncIterable<FoundLine>;
  /** Paths of files, the last changed first. */
  files(query: FilesQuery, signal: AbortSignal): AsyncIterable<string>;
}

/** The search was given up before its end; what it has found stands. */
export class SearchStoppedError extends Error {
  override readonly name = 'SearchStoppedError';
}

/** The pattern or glob cannot be read. The message is for the model. */
export class SearchPatternError extends Error {
  override readonly name = 'SearchPatternError';
}

/** Larger files are not looked into. */
export const SEARCHED_FILE_MIB = 20;
