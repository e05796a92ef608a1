import { Injectable } from '@nestjs/common';
import { ResponseFormats } from '../../agent/index.js';
import type { Problem, TurnPart } from '../../agent/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { ChatMessage, Finish, ResponseFormat, Usage } from '../../provider/index.js';
import { sumOfUsages } from '../answer.writer.js';
import {
  AnswerCutError,
  AnswerDoesNotFitError,
  AnswerRefusedError,
  AnswerTooLargeError,
  line,
} from './format.errors.js';

/** Maximum characters of an answer that is checked. */
const MAX_ANSWER_CHARS = 1_000_000;

/** Attempts: the first call and one correction. */
const CALLS = 2;

type Parts = AsyncIterable<readonly TurnPart[]>;

/** Options of a structured answer. */
export interface FormattedCalls {
  readonly caller: Caller;
  /** Cancels a check that waits for other checks of the caller. */
  readonly signal: AbortSignal;
  readonly format: ResponseFormat;
  /** The answer of the runtime. */
  readonly first: Parts;
  /** Calls the model again, with these messages appended. */
  readonly correct: (messages: readonly ChatMessage[]) => Parts;
  /**
   * An answer that calls tools, reached its limit or was declined is passed on as it is: its reader looks at the reason of its
   * end.
   */
  readonly passesUnfinished?: boolean | undefined;
}

/**
 * Answers in the form of a schema, whatever runtime writes them. The parts are passed on as they come but for the text: it is
 * held until it is complete and fits, and comes as one part without white space and code fence around it. An answer that does
 * not fit is corrected once; what is passed on is either JSON of the form or no text at all, unless `passesUnfinished`.
 * Usage is the sum of the calls, also when the answer fails. Throws ResponseFormatError, and what the calls throw.
 */
@Injectable()
export class StructuredAnswers {
  constructor(private readonly formats: ResponseFormats) {}

  async *read({
    caller,
    signal,
    format,
    first,
    correct,
    passesUnfinished,
  }: FormattedCalls): AsyncGenerator<readonly TurnPart[]> {
    const calls: HeldAnswer[] = [];
    let parts = first;
    try {
      for (;;) {
        const heldAnswer = new HeldAnswer();
        calls.push(heldAnswer);
        yield* heldAnswer.read(parts);
        const finish = heldAnswer.finish ? [heldAnswer.finish] : [];
        if (heldAnswer.waits) return;
        if (passesUnfinished && heldAnswer.isUnfinished) {
          yield [...heldAnswer.rest(), ...usageOf(calls), ...finish];
          return;
        }
        const { problems, json } = await this.formats.check(
          caller,
          format,
          answerOf(heldAnswer),
          signal,
        );
        if (json !== undefined) {
          yield [{ type: 'text-delta', text: json }, ...usageOf(calls), ...finish];
          return;
        }
        if (calls.length === CALLS) throw new AnswerDoesNotFitError(problems);
        parts = correct(correction(heldAnswer.text, problems));
      }
    } catch (error) {
      const usage = usageOf(calls);
      if (usage.length > 0) yield usage;
      throw error;
    }
  }
}

/** The text of an answer that has reached its end. */
function answerOf({ text, finish }: HeldAnswer): string {
  if (finish?.reason === 'content-filter') throw new AnswerRefusedError(text);
  if (finish?.reason === 'length') throw new AnswerCutError();
  return text;
}

/** Buffers the text of one answer. */
class HeldAnswer {
  text = '';
  usage: Usage | undefined;
  finish: ({ readonly type: 'finish' } & Finish) | undefined;
  private callsTools = false;
  /** The turn waits for a person, so this is no answer yet. */
  waits = false;

  get isUnfinished(): boolean {
    const reason = this.finish?.reason;
    return this.callsTools || reason === 'length' || reason === 'content-filter';
  }

  /** Reads to the end and yields the parts that are not buffered. */
  async *read(parts: Parts): AsyncGenerator<readonly TurnPart[]> {
    for await (const some of parts) {
      const releasedParts = this.take(some);
      if (releasedParts.length > 0) yield releasedParts;
    }
  }

  private take(parts: readonly TurnPart[]): TurnPart[] {
    return parts.flatMap((part) => {
      switch (part.type) {
        case 'text-delta':
          this.text += part.text;
          if (this.text.length > MAX_ANSWER_CHARS) throw new AnswerTooLargeError(MAX_ANSWER_CHARS);
          return [];
        case 'usage':
          this.usage = part.usage;
          return [];
        case 'finish':
          this.finish = part;
          return [];
        case 'waiting':
          this.waits = true;
          return [part];
        case 'step':
          return [...this.ofStep(), part];
        case 'tool-call':
          this.callsTools = true;
          return [...this.thought(), part];
        default:
          return [part];
      }
    });
  }

  /** The text of an answer that is passed on unfinished. */
  rest(): TurnPart[] {
    if (this.callsTools) return this.thought();
    return this.text === '' ? [] : [{ type: 'text-delta', text: this.text }];
  }

  /** Text next to tool calls is not the answer, and is shown as thinking. */
  private thought(): TurnPart[] {
    const { text } = this;
    this.text = '';
    return text === '' ? [] : [{ type: 'reasoning-delta', text }];
  }

  /** The usage of a step belongs to it. */
  private ofStep(): TurnPart[] {
    const { usage } = this;
    this.usage = undefined;
    this.finish = undefined;
    this.callsTools = false;
    return [...this.thought(), ...(usage ? [{ type: 'usage', usage } as const] : [])];
  }
}

/**
 * The sum of what the calls report. A count that a finished call does not report is unknown for all; a call that failed is
 * taken for one that has cost nothing.
 */
function usageOf(calls: readonly HeldAnswer[]): TurnPart[] {
  const usages = calls
    .filter(({ finish, usage }) => finish !== undefined || usage !== undefined)
    .map(({ usage }) => usage);
  if (usages.every((usage) => usage === undefined)) return [];
  const unknown: Usage = { raw: undefined };
  const usage = usages.map((one) => one ?? unknown).reduce(sumOfUsages);
  return [{ type: 'usage', usage }];
}

/** Messages for a correction: the answer, if it has text, and its problems. */
function correction(text: string, problems: readonly Problem[]): ChatMessage[] {
  const content = `Your answer does not fit the JSON Schema:\n${problems.map((one) => `- ${line(one)}`).join('\n')}\n\nAnswer again with the corrected JSON object only.`;
  const answer: ChatMessage[] = text.trim() === '' ? [] : [{ role: 'assistant', content: text }];
  return [...answer, { role: 'user', content }];
}
