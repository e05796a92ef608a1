/** Which rules of splitting apply. */
export type SourceKind = 'text' | 'markdown' | 'code' | 'json' | 'table' | 'document';

/**
 * The text of a file as its parser found it, with the structure that the text alone does not show. Line ends are LF;
 * all positions are UTF-16 code units of `text`, ends are exclusive.
 */
export interface SourceDocument {
  readonly kind: SourceKind;
  readonly text: string;
  /** Where each page starts; absent for formats without pages. */
  readonly pageStarts?: readonly number[];
  /**
   * In the order of the text, not overlapping. Absent for text, Markdown, code and JSON, whose structure the splitter reads
   * from the text itself.
   */
  readonly blocks?: readonly SourceBlock[];
  /** Name of the programming language, for code: `typescript`, `python`, ... */
  readonly language?: string;
}

export type SourceBlock =
  | {
      readonly type: 'heading';
      readonly start: number;
      readonly end: number;
      readonly level: number;
    }
  | { readonly type: 'paragraph'; readonly start: number; readonly end: number }
  /** Holds for the rows after it, until the next header or another kind of block. */
  | TableBlock<'table-header'>
  | TableBlock<'table-row'>;

export interface TableBlock<Type extends string> {
  readonly type: Type;
  readonly start: number;
  readonly end: number;
  /** Name of the sheet; absent where there is only one table without a name. */
  readonly sheet?: string;
  /** From 1, as a spreadsheet numbers them; for CSV the row of the file. */
  readonly row: number;
  /** Number of its last column, from 1. */
  readonly columns: number;
}

/** How a knowledge base wants its documents split. */
export interface SplitSettings {
  /** No fragment has more characters (UTF-16 code units). Above 0. */
  readonly textBlockSize: number;
  /** Characters that a fragment repeats of the one before it. At least 0, below textBlockSize. */
  readonly overlapChar: number;
  /** A literal text to split at first; empty for none. The two characters \n mean a line feed. */
  readonly separator: string;
}

/** One fragment before it has an id. */
export interface FragmentDraft {
  /** Never empty. A table's fragment begins with its repeated header, which lies outside of start and end. */
  readonly content: string;
  readonly start: number;
  readonly end: number;
  /** Page of its start, from 1. */
  readonly page?: number;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** "lines 10-42" or "line 7" for text, Markdown, code and JSON; "Sheet1!A2:F20" or "rows 2-20" for rows alone. */
  readonly location?: string;
}
