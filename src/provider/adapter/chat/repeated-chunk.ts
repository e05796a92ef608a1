import { recordIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';

const OPENING = /"content":\s*"/g;

/** Text whose JSON literal is the text itself: no quote, no backslash, no control character. */
const PLAIN = /^[^"\\\p{Cc}]*$/u;

/** After so many chunks that were not alike, the service is one whose chunks never are. */
const LONGEST_MISS = 8;

/**
 * Reads chunks that differ from an earlier one in the text alone, without parsing them: within one answer most
 * services repeat id, time and model in every chunk. If what stands before and after the text is the same to the
 * letter, and the text holds nothing that JSON escapes, then so does all that parsing would find.
 */
export class RepeatedChunk {
  private before = '';
  private after = '';
  private misses = 0;

  /** The text of a chunk that is like the one learned; undefined for one that must be parsed. */
  textOf(data: string): string | undefined {
    const { before, after } = this;
    if (before === '' || !data.startsWith(before) || !data.endsWith(after)) return undefined;
    const end = data.length - after.length;
    if (end <= before.length) return undefined;
    const text = data.slice(before.length, end);
    if (!PLAIN.test(text)) return undefined;
    this.misses = 0;
    return text;
  }

  /** Takes a parsed chunk as the pattern if it carries plain text and nothing else that changes anything. */
  learn(data: string, choice: JsonRecord): void {
    if (this.misses > LONGEST_MISS) return;
    this.misses += 1;
    const delta = recordIn(choice, 'delta');
    const content = delta?.['content'];
    if (typeof content !== 'string' || content === '' || !PLAIN.test(content)) return;
    if (!carriesTextOnly(choice, delta ?? {})) return;
    const [opening, second] = data.matchAll(OPENING);
    if (opening === undefined || second !== undefined) return;
    const start = opening.index + opening[0].length;
    if (!data.startsWith(`${content}"`, start)) return;
    this.before = data.slice(0, start);
    this.after = data.slice(start + content.length);
  }
}

/** Whatever else a chunk holds repeats to the letter, usage for example, and is known from the first time. */
function carriesTextOnly(choice: JsonRecord, delta: JsonRecord): boolean {
  const others = Object.entries(delta).filter(([name]) => name !== 'content' && name !== 'role');
  return others.every(([, value]) => isNothing(value)) && isNothing(choice['finish_reason']);
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}
