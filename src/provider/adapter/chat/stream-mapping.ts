import { msg } from '../../../platform/message/index.js';
import { cutError, isJson, parseRecord, protocolError, UpstreamError } from '../upstream.error.js';
import type { Usage } from '../model-call.js';
import type { Secrets } from '../safe-text.js';
import { endOfEvent } from '../stream-decoder.js';
import type { StreamDecoder } from '../stream-decoder.js';
import type { JsonRecord } from '../json-fields.js';
import { RepeatedChunk } from './repeated-chunk.js';
import { StopSequences } from './stop-sequences.js';
import { splitThinking, ThinkTags } from './think-tags.js';
import type { Segment } from './think-tags.js';
import { ToolCallCollector } from './tool-calls.js';
import type { CallExtra, ToolCallPiece } from './tool-calls.js';
import { laterUsage } from './usage.js';
import type {
  ChatCompletion,
  ChatPart,
  Finish,
  FinishReason,
  OmittedCalls,
} from './chat.adapter.js';

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
