import { randomUUID } from 'node:crypto';
import { msg, phrase } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { cutError, isJson, parseRecord, protocolError, UpstreamError } from '../upstream.error.js';
import type { Usage } from '../model-call.js';
import type { Secrets } from '../safe-text.js';
import { endOfEvent } from '../stream-decoder.js';
import type { StreamDecoder } from '../stream-decoder.js';
import { isRecord } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import { RepeatedChunk } from './repeated-chunk.js';
import type {
  ChatCompletion,
  ChatPart,
  Finish,
  FinishReason,
  OmittedCalls,
  ToolCall,
} from './chat.adapter.js';

/** The mark after the last event of chat-completions, which gateways add to other protocols as well. It is not JSON. */
export const END_MARK = '[DONE]';

/** Maps one streamed answer to parts. A protocol says how it reads an event. Does no I/O. */
export abstract class AnswerStream {
  protected readonly state: AnswerState;
  /** A protocol whose events may differ in their text alone teaches it. */
  protected readonly repeated = new RepeatedChunk();
  private ended = false;
  /** What was read so far ends in an empty line. */
  private isBetweenEvents = true;

  constructor(
    private readonly decoder: StreamDecoder,
    protected readonly secrets: Secrets,
    withThinking: boolean,
    omittedCalls: OmittedCalls | undefined,
  ) {
    this.state = new AnswerState(withThinking, omittedCalls);
  }

  /** The protocol's end mark was received: nothing follows. */
  get isOver(): boolean {
    return this.ended;
  }

  /** The finish reason was received: the answer itself is complete. */
  get isFinished(): boolean {
    return this.state.isFinished;
  }

  /**
   * Reads the event that begins at `start`, if all of it but its text stood to the letter in an event before it. Answers
   * its end, or 0 where it must be parsed. For a caller who knows that an event begins there.
   */
  readRepeated(bytes: Buffer, start: number, parts: ChatPart[]): number {
    const end = this.ended ? 0 : this.repeated.endIn(bytes, start);
    if (end > 0) this.state.addText(this.repeated.text, parts);
    return end;
  }

  /** Of the event that readRepeated has read. */
  get repeatedText(): string {
    return this.repeated.text;
  }

  /** Adds the parts of one read to `parts`, also those before a failure. Throws UpstreamError. */
  read(bytes: Buffer, parts: ChatPart[]): void {
    for (let start = 0; start < bytes.length;) start = this.readFrom(bytes, start, parts);
  }

  /** Reads one event, already parsed; `text` is its JSON. For a caller that splits the stream itself. Throws UpstreamError. */
  readParsed(event: JsonRecord, text: string, parts: ChatPart[]): void {
    if (!this.ended) this.ended = this.readEvent(event, text, parts);
  }

  /** The same for the mark after the last event. */
  readEndMark(): void {
    this.ended = true;
  }

  /** The stream is over: adds what is left, the finish last. Throws UpstreamError (cut) if it was not finished. */
  end(parts: ChatPart[]): void {
    for (const event of this.decoder.end()) {
      if (event !== END_MARK && !isJson(event)) throw cutError();
      this.next(event, parts);
    }
    this.state.end(parts);
  }

  /** Adds the parts of one event, whose JSON is `text`, to `parts`. Returns whether it is the protocol's last one. */
  protected abstract readEvent(event: JsonRecord, text: string, parts: ChatPart[]): boolean;

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
    if (this.ended || event === '') return;
    if (event === END_MARK) this.readEndMark();
    else this.readParsed(parseRecord(event, this.secrets), event, parts);
  }
}

/** What is known of an answer while it is streamed. */
class AnswerState {
  private readonly toolCalls = new ToolCallCollector();
  private usage: Usage | undefined;
  private finish: Finish | undefined;
  private refused = false;

  constructor(
    private readonly withThinking: boolean,
    private readonly omittedCalls: OmittedCalls | undefined,
  ) {}

  get isFinished(): boolean {
    return this.finish !== undefined;
  }

  addText(text: string | undefined, parts: ChatPart[]): void {
    if (text !== undefined && text !== '') parts.push({ type: 'text-delta', text });
  }

  /** The model declines: its words are text, and the answer counts as filtered. */
  addRefusal(text: string | undefined, parts: ChatPart[]): void {
    if (text === undefined || text === '') return;
    this.refused = true;
    this.addText(text, parts);
  }

  addThinking(text: string | undefined, parts: ChatPart[]): void {
    if (!this.withThinking || text === undefined || text === '') return;
    parts.push({ type: 'reasoning-delta', text });
  }

  addToolCall(piece: ToolCallPiece): void {
    this.toolCalls.add(piece);
  }

  /** The last one counts: services report running totals. */
  setUsage(usage: Usage): void {
    this.usage = usage;
  }

  /** The answer is complete; so are its tool calls, which are handed over now. */
  setFinish(reason: FinishReason, raw: string, parts: ChatPart[]): void {
    if (this.finish !== undefined) return;
    const calls = this.toolCalls.finish(reason, this.omittedCalls);
    this.finish = { reason: finalReason(reason, calls, this.refused), raw };
    for (const toolCall of calls) parts.push({ type: 'tool-call', toolCall });
  }

  end(parts: ChatPart[]): void {
    if (this.finish === undefined) throw cutError();
    if (this.usage !== undefined) parts.push({ type: 'usage', usage: this.usage });
    parts.push({ type: 'finish', ...this.finish });
  }
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
  /** As in the call. */
  readonly omittedCalls: OmittedCalls | undefined;
}

/** Throws UpstreamError for tool calls that cannot be used, unless they are omitted, and for an answer that holds nothing. */
export function completionOf(answer: WholeAnswer): ChatCompletion {
  const { text, reasoning, refusal = '', reason, raw, usage, omittedCalls } = answer;
  const collector = new ToolCallCollector();
  for (const piece of answer.toolCalls) collector.add(piece);
  const toolCalls = collector.finish(reason, omittedCalls);
  if (raw === '' && text === '' && refusal === '' && answer.toolCalls.length === 0) {
    throw protocolError(msg`The provider answered without content.`);
  }
  return {
    text: text + refusal,
    reasoning,
    toolCalls,
    finish: { reason: finalReason(reason, toolCalls, refusal !== ''), raw },
    ...(usage !== undefined && { usage }),
  };
}

/** Some services say "stop" after a tool call or a refusal; what the answer holds decides. */
function finalReason(
  reason: FinishReason,
  calls: readonly ToolCall[],
  refused: boolean,
): FinishReason {
  if (refused) return 'content-filter';
  return reason === 'stop' && calls.length > 0 ? 'tool-calls' : reason;
}

interface OpenCall {
  id: string;
  name: string;
  readonly pieces: string[];
}

/** One piece of a call as the wire has it. */
export interface ToolCallPiece {
  /** Position of the call among the calls of this answer. */
  readonly index?: number | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly arguments?: string | undefined;
}

/** Joins the pieces of tool calls and parses each call strictly once, when the answer is finished. */
class ToolCallCollector {
  private readonly byIndex = new Map<number, OpenCall>();
  private readonly calls: OpenCall[] = [];

  add(piece: ToolCallPiece): void {
    const call = this.callFor(piece);
    if (call.id === '' && piece.id !== undefined) call.id = piece.id;
    if (call.name === '' && piece.name !== undefined) call.name = piece.name;
    if (piece.arguments !== undefined) call.pieces.push(piece.arguments);
  }

  /**
   * The calls of an answer that ended for this reason. Throws UpstreamError (content) if it ended in
   * the middle of one or if one cannot be parsed, unless such calls are omitted; nothing is repaired.
   */
  finish(reason: FinishReason, omitted: OmittedCalls | undefined): readonly ToolCall[] {
    if (this.calls.length === 0 || reason === 'content-filter') return [];
    if (omitted === 'unusable') return this.calls.flatMap((call) => usable(call));
    // The last one is what the model was writing when it reached its limit.
    const omitsLast = omitted === 'cut' && reason === 'length';
    if (!omitsLast && reason !== 'tool-calls' && reason !== 'stop') throw cutCall(reason);
    const whole = omitsLast ? this.calls.slice(0, -1) : this.calls;
    return whole.map((call) => toolCallOf(call));
  }

  /** Some services leave the index out, or use 0 for every call: then a new id means a new call. */
  private callFor(piece: ToolCallPiece): OpenCall {
    const known = piece.index === undefined ? this.calls.at(-1) : this.byIndex.get(piece.index);
    const isNew = known === undefined || (!!piece.id && known.id !== '' && piece.id !== known.id);
    if (!isNew) return known;
    const call: OpenCall = { id: '', name: '', pieces: [] };
    this.calls.push(call);
    if (piece.index !== undefined) this.byIndex.set(piece.index, call);
    return call;
  }
}

/** A whole call. An id that the service does not give is made; throws UpstreamError (content). */
function toolCallOf({ id, name, pieces }: OpenCall): ToolCall {
  if (name === '') throw contentError(msg`The model called a tool without naming it. Try again.`);
  const json = pieces.join('');
  const text = json.trim() === '' ? '{}' : json;
  return { id: id || `call_${randomUUID()}`, name, arguments: text, input: inputOf(name, text) };
}

/** The call, or nothing where it cannot be used. */
function usable(call: OpenCall): readonly ToolCall[] {
  try {
    return [toolCallOf(call)];
  } catch {
    return [];
  }
}

function inputOf(name: string, json: string): Readonly<Record<string, unknown>> {
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch {
    // The parser's own error quotes the arguments, which may repeat a key.
    throw unusableArguments(name);
  }
  if (!isRecord(input)) throw unusableArguments(name);
  return input;
}

function unusableArguments(name: string): UpstreamError {
  // The whole name or nothing of it: a part of it could be a part of a key.
  const tool = /^[\w.-]{1,64}$/.test(name) ? phrase`the tool ${name}` : phrase`a tool`;
  return contentError(
    msg`The model called ${tool} with arguments that are not a JSON object. Try again, or use another model.`,
  );
}

function cutCall(reason: FinishReason): UpstreamError {
  return contentError(
    reason === 'length'
      ? msg`The answer reached its length limit in the middle of a tool call. Raise the maximum output.`
      : msg`The answer ended in the middle of a tool call. Try again.`,
  );
}

function contentError(message: Message): UpstreamError {
  return new UpstreamError({ kind: 'content', message });
}
