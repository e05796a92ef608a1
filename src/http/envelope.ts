/** One page of a list. Answered as `{code, msg, total, rows}`, without a `data` key. */
export class Page<Row> {
  constructor(
    readonly rows: readonly Row[],
    readonly total: number,
  ) {}

  map<Other>(change: (row: Row) => Other): Page<Other> {
    return new Page(this.rows.map(change), this.total);
  }
}

/** Data with a message of its own, such as a warning that the client shows. */
export class Answer<Data> {
  constructor(
    readonly data: Data,
    readonly msg: string,
    /** Top-level fields beside `data`, for the one route that answers both (architecture, section 10). */
    readonly beside: Readonly<Record<string, unknown>> = {},
  ) {}
}

export const OK_MESSAGE = 'Done.';

export interface Envelope {
  readonly code: number;
  readonly msg: string;
}

export function envelope(result: unknown): Envelope {
  if (result instanceof Page) {
    return { code: 200, msg: OK_MESSAGE, total: result.total, rows: result.rows } as Envelope;
  }
  if (result instanceof Answer) {
    return { code: 200, msg: result.msg, data: result.data ?? null, ...result.beside } as Envelope;
  }
  return { code: 200, msg: OK_MESSAGE, data: result ?? null } as Envelope;
}
