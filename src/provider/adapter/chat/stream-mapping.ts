import {
  firstRecordIn,
  isRecord,
  recordIn,
  countIn,
  firstCount,
  isJson,
  parseRecord,
} from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import type { StreamDecoder, Usage } from '../model-call.js';
import { msg } from '../../../platform/message/index.js';
import { cutError, protocolError, UpstreamError } from '../upstream.error.js';
import type { Secrets } from '../safe-text.js';
import { billedUsage, endOfEvent } from '../model-call.js';
import { splitThinking, StopSequences, ThinkTags, ToolCallCollector } from './answer-text.js';
import type { CallExtra, Segment, ToolCallPiece } from './answer-text.js';
import type {
  ChatCompletion,
  ChatPart,
  Finish,
  FinishReason,
  OmittedCalls,
} from './chat.adapter.js';

/**
 * Usage as services of chat-completions and their gateways spell it. Cached tokens: OpenAI `prompt_tokens_details`, DeepSeek
 * `prompt_cache_hit_tokens`, Kimi `cached_tokens`, gateways before Anthropic `cache_read_input_tokens`. Gateways before other
 * protocols keep `input_tokens` and `output_tokens`.
 */
export function chatUsage(raw: JsonRecord, answer?: JsonRecord): Usage {
  const inputTokens = firstCount(countIn(raw, 'prompt_tokens'), countIn(raw, 'input_tokens'));
  const named = firstCount(countIn(raw, 'completion_tokens'), countIn(raw, 'output_tokens'));
  const totalTokens = countIn(raw, 'total_tokens');
  const thought = firstCount(thinkingTokens(raw), countIn(raw, 'reasoning_tokens'));
  const unnamed = unnamedThinking(inputTokens, named, totalTokens);
  const isBeside = unnamed > 0 && (thought === undefined || thought === 0 || thought === unnamed);
  return {
    inputTokens,
    outputTokens: isBeside && named !== undefined ? named + unnamed : named,
    totalTokens,
    cachedInputTokens: firstCount(
      countIn(recordIn(raw, 'prompt_tokens_details'), 'cached_tokens'),
      countIn(recordIn(raw, 'input_tokens_details'), 'cached_tokens'),
      countIn(raw, 'prompt_cache_hit_tokens'),
      countIn(raw, 'cached_tokens'),
      countIn(raw, 'cache_read_input_tokens'),
    ),
    reasoningTokens: isBeside ? unnamed : thought,
    billed: billedUsage(raw, answer),
    raw,
  };
}

/** Thinking tokens, which every protocol counts in the output. */
export function thinkingTokens(raw: JsonRecord): number | undefined {
  const { completion_tokens_details: ofChat, output_tokens_details: ofOthers } = raw;
  if (ofChat === undefined && ofOthers === undefined) return undefined;
  return firstCount(
    ...[ofChat, ofOthers].flatMap((value) => {
      const details = isRecord(value) ? value : undefined;
      return [countIn(details, 'reasoning_tokens'), countIn(details, 'thinking_tokens')];
    }),
  );
}

/** Gemini and xAI leave thinking out of `completion_tokens`, but not out of the total. */
function unnamedThinking(
  input: number | undefined,
  output: number | undefined,
  total: number | undefined,
): number {
  if (input === undefined || output === undefined || total === undefined) return 0;
  return Math.max(0, total - input - output);
}

/** Usage beside the choices of a chunk, in the first one (Kimi), or below `x_groq`. The last that says something counts. */
export function usageIn(answer: JsonRecord, choice: JsonRecord | undefined): Usage | undefined {
  const { x_groq: groqs, usage: beside } = answer;
  // Most chunks have no usage.
  if (!isRecord(beside) && !isRecord(groqs) && !isRecord(choice?.['usage'])) return undefined;
  if (isRecord(beside) && !isRecord(groqs) && !choice?.['usage']) return chatUsage(beside, answer);
  const groq = recordIn(answer, 'x_groq');
  const places = [groq?.['usage'], choice?.['usage'], beside];
  return places.reduce<Usage | undefined>(
    (usage, place) => (isRecord(place) ? laterUsage(usage, chatUsage(place, answer)) : usage),
    undefined,
  );
}

/** Usage after a later report of it: counts that are missing or zero there stay as they were. */
export function laterUsage(before: Usage | undefined, later: Usage): Usage {
  if (before === undefined) return later;
  return {
    inputTokens: laterCount(later.inputTokens, before.inputTokens),
    outputTokens: laterCount(later.outputTokens, before.outputTokens),
    totalTokens: laterCount(later.totalTokens, before.totalTokens),
    cachedInputTokens: laterCount(later.cachedInputTokens, before.cachedInputTokens),
    reasoningTokens: laterCount(later.reasoningTokens, before.reasoningTokens),
    billed: before.billed || later.billed ? { ...before.billed, ...later.billed } : undefined,
    raw: isEmpty(later) ? before.raw : later.raw,
  };
}

function laterCount(later: number | undefined, before: number | undefined): number | undefined {
  return later || (before ?? later);
}

function isEmpty({ inputTokens, outputTokens, totalTokens }: Usage): boolean {
  return !inputTokens && !outputTokens && !totalTokens;
}

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

/** The mark after the last event of chat-completions, which gateways add to other protocols as well. It is not JSON. */
const END_MARK = '[DONE]';
const MAX_END_MARK_CHARS = 20;

/** Whether the data of an event is the end mark, which some services write with blanks around it. */
export function isEndMark(data: string): boolean {
  return data.length <= MAX_END_MARK_CHARS && data.trim() === END_MARK;
}

/** The answer that the request expects. */
export interface AnswerExpectation {
  /** The text is to be JSON. */
  readonly isJson?: boolean;
  /** Whether an answer without anything in it fails: never when absent; `unless-stopped`: not where the model says that it has ended. */
  readonly refusesEmpty?: 'always' | 'unless-stopped';
  /** The text ends before the first of these. */
  readonly stop?: readonly string[] | undefined;
  /** The text begins inside of thinking, whose opening tag the template of the model has written. */
  readonly beginsInside?: boolean;
}

/** Maps one streamed answer to parts. A protocol says how it reads an event. Does no I/O. */
export abstract class AnswerStream {
  protected readonly state: AnswerState;
  /** Learned chunks, for protocols whose events may differ only in their text. */
  protected readonly repeated = new RepeatedChunk();
  private ended = false;
  /** The stream so far ends in an empty line. */
  private isBetweenEvents = true;

  constructor(
    private readonly decoder: StreamDecoder,
    protected readonly secrets: Secrets,
    withThinking: boolean,
    omittedCalls: OmittedCalls | undefined,
  ) {
    this.state = new AnswerState(withThinking, omittedCalls);
  }

  /** The protocol's end mark was received, or a stop sequence: nothing follows. */
  get isOver(): boolean {
    return this.ended || this.state.hasStopped;
  }

  /** The finish reason or the end mark was received: the answer itself is complete. */
  get isFinished(): boolean {
    return this.state.isFinished;
  }

  /** Whether the text began inside of thinking, where that was not as expected. Known at the end. */
  get beganInside(): boolean | undefined {
    return this.state.beganInside;
  }

  /** Must be called before anything is read. */
  expect(expectation: AnswerExpectation): void {
    this.state.expect(expectation);
  }

  /**
   * Reads the event that begins at `start`, if all of it but its text stood to the letter in an event before it. Answers
   * its end, or 0 where it must be parsed. For a caller who knows that an event begins there.
   */
  readRepeated(bytes: Buffer, start: number, parts: ChatPart[]): number {
    const end = this.isOver ? 0 : this.repeated.endIn(bytes, start);
    if (end > 0) this.state.addRepeated(this.repeated.text, parts);
    return end;
  }

  /** Text of the last event that readRepeated has read. */
  get repeatedText(): string {
    return this.repeated.text;
  }

  /** Adds the parts of one read to `parts`, also those before a failure. Throws UpstreamError. */
  read(bytes: Buffer, parts: ChatPart[]): void {
    for (let start = 0; start < bytes.length;) start = this.readFrom(bytes, start, parts);
  }

  /** Reads one event, already parsed; `text` is its JSON. For a caller that splits the stream itself. Throws UpstreamError. */
  readParsed(event: JsonRecord, text: string, parts: ChatPart[]): void {
    if (!this.isOver) this.ended = this.readEvent(event, text, parts);
  }

  /** The same for the mark after the last event. */
  readEndMark(): void {
    this.ended = true;
    this.state.markEnd();
  }

  /**
   * The connection is over, however it ended: reads an event that it left unterminated. Throws UpstreamError (cut) for a part of one,
   * unless the answer was finished before it.
   */
  flush(parts: ChatPart[]): void {
    for (const event of this.decoder.end()) {
      if (isEndMark(event) || isJson(event)) this.next(event, parts);
      else if (!this.isFinished) throw cutError();
    }
  }

  /** The stream is over: adds what is left, the finish last. Throws UpstreamError (cut) if it was not finished. */
  end(parts: ChatPart[]): void {
    this.flush(parts);
    this.state.end(parts, () => this.stateData());
  }

  /** Adds the parts of one event, whose JSON is `text`, to `parts`. Returns whether it is the protocol's last one. */
  protected abstract readEvent(event: JsonRecord, text: string, parts: ChatPart[]): boolean;

  /** State that the service expects back with the answer; undefined without any. */
  protected stateData(): StateData | undefined {
    return undefined;
  }

  /** Reads one event, or what there is of it, and answers its end. */
  private readFrom(bytes: Buffer, start: number, parts: ChatPart[]): number {
    const repeated = this.isBetweenEvents ? this.readRepeated(bytes, start, parts) : 0;
    if (repeated > 0) return repeated;
    const eventEnd = endOfEvent(bytes, start);
    this.isBetweenEvents = eventEnd > 0;
    const end = eventEnd || bytes.length;
    const events: string[] = [];
    try {
      this.decoder.push(bytes.subarray(start, end), events);
    } finally {
      for (const event of events) this.next(event, parts);
    }
    return end;
  }

  private next(event: string, parts: ChatPart[]): void {
    if (this.isOver || event === '') return;
    if (isEndMark(event)) this.readEndMark();
    else this.readParsed(parseRecord(event, this.secrets), event, parts);
  }
}

/** The data of a ProviderState. */
export type StateData = Readonly<Record<string, unknown>>;

/** ProtocolAdapter, which knows the service, names the origin. */
export const UNSTAMPED = '';

/** The state of an answer while it is streamed. */
class AnswerState {
  private readonly toolCalls = new ToolCallCollector();
  private readonly tags = new ThinkTags();
  private usage: Usage | undefined;
  private finish: Finish | undefined;
  private refused = false;
  private hasEndMark = false;
  private hasThinking = false;
  /** Text other than white space, or a refusal. */
  private hasText = false;
  private calledTools = false;
  private expectation: AnswerExpectation = {};
  /** The stop sequences; undefined where the request has none. */
  private stops: StopSequences | undefined;

  constructor(
    private readonly withThinking: boolean,
    private readonly omittedCalls: OmittedCalls | undefined,
  ) {}

  expect(expectation: AnswerExpectation): void {
    this.expectation = expectation;
    if (expectation.stop?.length) this.stops = new StopSequences(expectation.stop);
    // Text before JSON waits for a closing tag in any case.
    if (expectation.beginsInside && !expectation.isJson) this.tags.beginInside();
  }

  get beganInside(): boolean | undefined {
    if (this.tags.hasClosedAlone) return true;
    return this.isUnclosed ? false : undefined;
  }

  /** Text that was taken for thinking is an answer that has ended. */
  private get isUnclosed(): boolean {
    return this.tags.unclosed !== '' && this.finish?.reason !== 'length';
  }

  get isFinished(): boolean {
    return this.finish !== undefined || (this.hasEndMark && this.hasContent);
  }

  /** The text has reached a stop sequence. */
  get hasStopped(): boolean {
    return this.stops?.hasStopped === true;
  }

  /** Thinking that stood in the text, verbatim with its tags. */
  get thinkingInText(): string {
    return this.tags.verbatim;
  }

  /** State that the service expects back with the calls that were handed over. */
  get callExtras(): readonly CallExtra[] {
    return this.toolCalls.extras;
  }

  get hasAnyText(): boolean {
    return this.hasText;
  }

  get hasCalls(): boolean {
    return !this.toolCalls.isEmpty;
  }

  get hasAnyThinking(): boolean {
    return this.hasThinking;
  }

  addText(text: string | undefined, parts: ChatPart[]): void {
    if (text === undefined || text === '') return;
    const { tags } = this;
    if (tags.isHolding || this.stops || text.includes('<')) {
      this.addSegments(tags.add(text, this.expectation.isJson === true), parts);
    } else {
      tags.previous = text;
      parts.push({ type: 'text-delta', text });
    }
  }

  /** The same for a text without `<`. */
  addRepeated(text: string, parts: ChatPart[]): void {
    if (this.tags.isHolding || this.stops) {
      this.addText(text, parts);
    } else {
      this.tags.previous = text;
      parts.push({ type: 'text-delta', text });
    }
  }

  /** The model declines: its words are text, and the answer counts as filtered. */
  addRefusal(text: string | undefined, parts: ChatPart[]): void {
    if (text === undefined || text === '') return;
    this.refused = true;
    this.addText(text, parts);
  }

  addThinking(text: string | undefined, parts: ChatPart[]): void {
    if (text === undefined || text === '') return;
    if (!this.hasThinking) this.tags.skipLoneClosing();
    this.hasThinking = true;
    if (this.withThinking) parts.push({ type: 'reasoning-delta', text });
  }

  addToolCall(piece: ToolCallPiece): void {
    this.toolCalls.add(piece);
  }

  /** Services report running totals: the last count counts that is not zero. */
  setUsage(usage: Usage): void {
    this.usage = laterUsage(this.usage, usage);
  }

  markEnd(): void {
    this.hasEndMark = true;
  }

  /** The answer is complete, and so are its tool calls, which are handed over now. The last reason of several counts. */
  setFinish(reason: FinishReason, raw: string, parts: ChatPart[]): void {
    this.finish = { reason, raw };
    this.addCalls(reason, parts, false);
  }

  end(parts: ChatPart[], dataOf: () => StateData | undefined): void {
    this.addSegments(this.tags.end(), parts);
    if (this.isFinished && this.isUnclosed) this.passText(this.tags.unclosed, parts);
    if (this.stops) pushText(this.stops.end(), parts);
    if (!this.isFinished) throw cutError();
    const { reason, raw } = this.finish ?? { reason: 'stop' };
    this.addCalls(reason, parts, true);
    if (!this.hasContent) throwIfEmpty(reason, this.expectation);
    const data = dataOf();
    if (data) parts.push({ type: 'provider-state', providerState: { origin: UNSTAMPED, data } });
    if (this.usage !== undefined) parts.push({ type: 'usage', usage: this.usage });
    const final = finalReason(reason, this.calledTools, this.refused);
    parts.push({ type: 'finish', reason: final, ...(raw !== undefined && { raw }) });
  }

  private get hasContent(): boolean {
    return this.hasText || this.hasThinking || this.refused || this.hasCalls || this.tags.holdsText;
  }

  private addSegments(segments: readonly Segment[], parts: ChatPart[]): void {
    for (const { isThinking, text } of segments) {
      if (isThinking) this.addThinking(text, parts);
      else {
        this.hasText ||= text.trim() !== '';
        this.passText(text, parts);
      }
    }
  }

  private passText(text: string, parts: ChatPart[]): void {
    if (!this.stops) {
      parts.push({ type: 'text-delta', text });
      return;
    }
    pushText(this.stops.add(text), parts);
    if (this.stops.hasStopped) this.finish ??= { reason: 'stop', raw: 'stop_sequence' };
  }

  private addCalls(reason: FinishReason, parts: ChatPart[], isLast: boolean): void {
    for (const toolCall of this.toolCalls.finish(reason, this.omittedCalls, isLast)) {
      this.calledTools = true;
      parts.push({ type: 'tool-call', toolCall });
    }
  }
}

function pushText(text: string, parts: ChatPart[]): void {
  if (text !== '') parts.push({ type: 'text-delta', text });
}

/** An answer in one piece, whose text ends before the first stop sequence in it. */
export function stoppedCompletion(
  completion: ChatCompletion,
  stop: readonly string[] | undefined,
): ChatCompletion {
  if (!stop?.length) return completion;
  const stops = new StopSequences(stop);
  const text = stops.add(completion.text) + stops.end();
  if (!stops.hasStopped) return completion;
  return { ...completion, text, finish: { reason: 'stop', raw: 'stop_sequence' } };
}

/** Reasons with which an answer without anything in it says why. */
const REASONS_OF_EMPTY: ReadonlySet<FinishReason> = new Set(['length', 'content-filter', 'error']);

/** Throws UpstreamError (cut) for an answer without anything in it, where the request refuses one. */
export function throwIfEmpty(
  reason: FinishReason,
  { refusesEmpty: refuses }: AnswerExpectation,
): void {
  if (refuses === undefined || REASONS_OF_EMPTY.has(reason)) return;
  if (refuses === 'always' || reason !== 'stop') throw emptyError();
}

function emptyError(): UpstreamError {
  return new UpstreamError({
    kind: 'cut',
    message: msg`The model answered without any text or tool call. Try again, or check that the service has loaded the model.`,
    retryable: true,
  });
}

/** The sum of two token counts; undefined unless both are known. */
export function totalOf(
  inputTokens: number | undefined,
  outputTokens: number | undefined,
): number | undefined {
  return inputTokens === undefined || outputTokens === undefined
    ? undefined
    : inputTokens + outputTokens;
}

/** An answer in one piece, as a protocol found it. */
interface WholeAnswer {
  readonly text: string;
  readonly reasoning: string;
  /** The words with which the model declined, where the protocol keeps them apart. */
  readonly refusal?: string;
  readonly toolCalls: readonly ToolCallPiece[];
  readonly reason: FinishReason;
  readonly raw: string;
  readonly usage?: Usage | undefined;
  /** See ChatCall. */
  readonly omittedCalls: OmittedCalls | undefined;
  /** State that the service expects back with the answer, from thinking in its text and from state of its calls. */
  readonly stateDataOf?: (state: FoundState) => StateData | undefined;
}

/** State of an answer that its protocol has not read itself. */
export interface FoundState {
  /** Thinking that stood in the text, verbatim with its tags; empty without any. */
  readonly thinkingInText: string;
  readonly callExtras: readonly CallExtra[];
  readonly hasCalls: boolean;
}

/** Throws UpstreamError for tool calls that cannot be used, unless they are omitted, and for an answer that holds nothing. */
export function completionOf(answer: WholeAnswer): ChatCompletion {
  const { reasoning, refusal = '', reason, raw, usage, omittedCalls } = answer;
  const collector = new ToolCallCollector();
  for (const piece of answer.toolCalls) collector.add(piece);
  const toolCalls = collector.finish(reason, omittedCalls, true);
  if (raw === '' && answer.text === '' && refusal === '' && answer.toolCalls.length === 0) {
    throw protocolError(msg`The provider answered without content.`);
  }
  const { thinking, text, verbatim } = splitThinking(answer.text, reasoning !== '');
  const data = answer.stateDataOf?.({
    thinkingInText: verbatim,
    callExtras: collector.extras,
    hasCalls: toolCalls.length > 0,
  });
  return {
    text: text + refusal,
    reasoning: reasoning + thinking,
    toolCalls,
    ...(data && { providerState: { origin: UNSTAMPED, data } }),
    finish: { reason: finalReason(reason, toolCalls.length > 0, refusal !== ''), raw },
    ...(usage !== undefined && { usage }),
  };
}

/** Some services say "stop" after a tool call or a refusal, or a word of their own; what the answer holds decides. */
function finalReason(reason: FinishReason, hasCalls: boolean, refused: boolean): FinishReason {
  if (refused) return 'content-filter';
  return hasCalls && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason;
}
