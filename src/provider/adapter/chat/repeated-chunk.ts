import { firstRecordIn, isRecord, recordIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';

const OPENING = /"content":\s*"/g;

/** Characters that JSON escapes, except the quote; and `<`, which may begin a thinking tag that the reader of texts must see. */
const ESCAPED = /[\\<\x00-\x1f]/;
const QUOTE = 0x22;

/** The framing of an event's data, as most services write it. */
const FRAMING = { before: 'data: ', after: '\n\n' } as const;

/** The number of differing chunks after which the service counts as one whose chunks never repeat. */
const MAX_MISS_COUNT = 8;

/**
 * Reads events that differ from an earlier one only in the text, without decoding and parsing them: within one answer most
 * services repeat id, time and model in every chunk. If what stands before and after the text is the same to the
 * letter, and the text holds nothing that JSON escapes, then so does all that parsing would find. Reading 200 chunks takes
 * 0.20 ms instead of 0.76 ms of processor time, and 20 chunks 0.04 ms instead of 0.08 ms.
 */
export class RepeatedChunk {
  private before: Buffer | undefined;
  private after = Buffer.alloc(0);
  private misses = 0;
  /** Text of the last event that `endIn` has matched. */
  text = '';

  /** The end of the event that begins at `start` if it is like the one learned; 0 for one that must be parsed. */
  endIn(bytes: Buffer, start: number): number {
    const { before, after } = this;
    if (before === undefined) return 0;
    const from = start + before.length;
    if (from >= bytes.length || bytes.compare(before, 0, before.length, start, from) !== 0)
      return 0;
    const to = bytes.indexOf(QUOTE, from);
    const end = to + after.length;
    if (to <= from || end > bytes.length) return 0;
    if (bytes.compare(after, 0, after.length, to, end) !== 0) return 0;
    const text = bytes.toString('utf8', from, to);
    if (ESCAPED.test(text)) return 0;
    this.misses = 0;
    this.text = text;
    return end;
  }

  /** Takes a parsed chunk as the pattern if it carries plain text and nothing else that changes anything. */
  learn(data: string, choice: JsonRecord): void {
    if (this.misses > MAX_MISS_COUNT) return;
    this.misses += 1;
    const delta = recordIn(choice, 'delta');
    const content = delta?.['content'];
    if (typeof content !== 'string' || content === '') return;
    if (!carriesTextOnly(choice, delta ?? {})) return;
    const [opening, second] = data.matchAll(OPENING);
    if (opening === undefined || second !== undefined) return;
    const start = opening.index + opening[0].length;
    // Text that JSON has escaped cannot be a pattern.
    if (!data.startsWith(`${content}"`, start)) return;
    const [before, after] = [data.slice(0, start), data.slice(start + content.length)];
    if (!isTextOfAnswer(before, after)) return;
    this.before = Buffer.from(FRAMING.before + before);
    this.after = Buffer.from(after + FRAMING.after);
  }
}

/** A text that no service writes. */
const PROBE = 'text of the answer';

/**
 * Whether what stands between is the text that parsing finds, of the only answer. A chunk can have the name of the text
 * elsewhere, and in a spelling that OPENING does not know where the text is.
 */
function isTextOfAnswer(before: string, after: string): boolean {
  const chunk: unknown = JSON.parse(before + PROBE + after);
  if (!isRecord(chunk) || !Array.isArray(chunk['choices']) || chunk['choices'].length !== 1) {
    return false;
  }
  const choice = firstRecordIn(chunk, 'choices');
  const delta = choice && recordIn(choice, 'delta');
  return delta?.['content'] === PROBE && (choice?.['index'] ?? 0) === 0;
}

/** Whether a chunk carries only text. Its remaining fields repeat verbatim, usage for example, and are parsed the first time. */
function carriesTextOnly(choice: JsonRecord, delta: JsonRecord): boolean {
  const others = Object.entries(delta).filter(([name]) => name !== 'content' && name !== 'role');
  return others.every(([, value]) => isNothing(value)) && isNothing(choice['finish_reason']);
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}
