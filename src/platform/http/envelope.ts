import { msg } from '../message/index.js';
import type { Message } from '../message/index.js';

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

/** Data with its own message, such as a warning that the client shows. */
export class Answer<Data> {
  constructor(
    readonly data: Data,
    readonly msg: Message,
    /** Top-level fields beside `data`, for routes that existing clients read in two forms (docs/WIRE.md). */
    readonly beside: Readonly<Record<string, unknown>> = {},
  ) {}
}

export const OK_MESSAGE = msg`Done.`;

export interface Envelope extends Readonly<Record<string, unknown>> {
  readonly code: number;
  readonly msg: Message;
}

export function envelope(result: unknown): Envelope {
  if (result instanceof Page) {
    const { total, rows } = result;
    return { code: 200, msg: OK_MESSAGE, total, rows };
  }
  if (result instanceof Answer) {
    const { msg, beside } = result;
    const data: unknown = result.data;
    return { code: 200, msg, data: data ?? null, ...beside };
  }
  return { code: 200, msg: OK_MESSAGE, data: result ?? null };
}
