/** A word, and the PostgreSQL dictionary that knows its stem. */
export interface StemRequest {
  readonly dictionary: string;
  readonly word: string;
}
