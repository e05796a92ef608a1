/** A text as the keyword index sees it. */
export interface AnalysedText {
  /** The PostgreSQL text search configuration its words were stemmed by; `simple` where none fits. */
  readonly language: string;
  /** How many terms it has, repetitions included. */
  readonly termCount: number;
  /** How often each term occurs, at least once. */
  readonly terms: ReadonlyMap<string, number>;
}
