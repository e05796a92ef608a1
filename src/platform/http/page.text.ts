import { setImmediate } from 'node:timers/promises';
import { envelope, OK_MESSAGE } from './envelope.js';
import type { Page } from './envelope.js';

/** Serializing so many characters takes about a millisecond. */
const PART_CHARACTERS = 256 * 1_024;

/** The JSON text of the envelope of a page, in parts: rows can be large, and a thousand of them hold the event loop. */
export function* pageText(page: Page<unknown>, msg: string = OK_MESSAGE): Generator<string, void> {
  const { rows: _, ...head } = envelope(page);
  // The rows take the place of the closing brace.
  let part = `${JSON.stringify({ ...head, msg }).slice(0, -1)},"rows":[`;
  for (const [index, row] of page.rows.entries()) {
    part += index === 0 ? JSON.stringify(row) : `,${JSON.stringify(row)}`;
    if (part.length < PART_CHARACTERS) continue;
    yield part;
    part = '';
  }
  yield `${part}]}`;
}

/** Lets other work run after each part. */
export async function* withPauses(
  begun: readonly string[],
  rest: Iterable<string>,
): AsyncGenerator<Buffer, void> {
  for (const parts of [begun, rest]) {
    for (const part of parts) {
      yield Buffer.from(part);
      await setImmediate();
    }
  }
}
