import { randomUUID } from 'node:crypto';
import type { Findings } from '../refused-parameters.js';
import type { ChatProtocolName, FinishReason, OmittedCalls, ToolCall } from './chat.adapter.js';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { UpstreamError } from '../upstream.error.js';
import type { JsonRecord } from '../vendor-json.js';

/**
 * Thinking that stands in the text of an answer, between tags at its start. Services write it so whose server does not know the
 * format of the model: DeepSeek R1, Qwen3, GLM and MiniMax M2 (`<think>`), Gemini's compatible endpoint (`<thought>`), Seed-OSS,
 * Kimi-VL and Magistral. Tags later in the text are text: an answer may be about them.
 */
const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<seed:think>', '</seed:think>'],
  ['◁think▷', '◁/think▷'],
  ['[THINK]', '[/THINK]'],
];

/** The closing tag that a template leaves when it has written the opening tag itself (DeepSeek R1, Qwen3 Thinking, QwQ, GLM Z1). */
const LONE_CLOSING = '</think>';

/** The beginning of the opening tag. */
const OPENING = '<think';

/** Models whose template always writes the opening tag, by their names (chat templates at Hugging Face, 2026-11). */
const OPENED_BY_TEMPLATE = /deepseek[-_/. ]?r1|\bqwq\b|qwen3[\w.-]*thinking|glm-z1/i;

/** The finding whether answers of a model begin inside of thinking: '' or NOT_OPENED. */
export const OPENED_FINDING = 'unopened thinking';
export const NOT_OPENED = 'not';

/** Whether a streamed answer of the model begins inside of thinking, as far as that is known. */
export function beginsInside(
  protocol: ChatProtocolName,
  model: string,
  facts: Findings | undefined,
): boolean {
  const learned = facts?.get(OPENED_FINDING);
  if (learned !== undefined) return learned !== NOT_OPENED;
  return protocol === 'chat-completions' && OPENED_BY_TEMPLATE.test(model);
}

/** The finding from a streamed answer: it began inside of thinking, or did not although that was expected. */
export function openedFinding(isOpened: boolean): Findings {
  return new Map([[OPENED_FINDING, isOpened ? '' : NOT_OPENED]]);
}

const QUOTES = '`"\'“”‘’「」『』«»';

export interface Segment {
  readonly isThinking: boolean;
  readonly text: string;
}

/** Splits the text of one answer, which comes in pieces, into thinking and text. */
export class ThinkTags {
  /**
   * `start`: nothing but white space and the beginning of a tag has come. `inside`: an opening tag has come. `before-json`: what has
   * come is no JSON, so that it is thinking if a closing tag follows. `text`: the rest is text.
   */
  private phase: 'start' | 'inside' | 'before-json' | 'text' = 'start';
  private buffer = '';
  private closing = LONE_CLOSING;
  private hasThought = false;
  /** An unpaired closing tag no longer ends thinking: the text is about tags, or thinking has come apart from it. */
  private hasOpening = false;
  /** Only white space has come of the thinking between two tags. */
  private isBlank = true;
  private consumed = '';
  /** The answer is taken to begin inside of thinking, until a tag or thinking apart from the text shows. */
  private isAssumed = false;
  /** An unpaired closing tag came after text that was passed on. */
  hasClosedAlone = false;
  /** The piece before, also one that was passed by. */
  previous = '';

  /** False: pieces without `<` can be passed by. */
  get isHolding(): boolean {
    return this.phase !== 'text' || this.buffer !== '';
  }

  /** The buffer holds something other than white space. */
  get holdsText(): boolean {
    return this.buffer.trim() !== '';
  }

  /** The thinking before the text, verbatim with its tags; empty without thinking. */
  get verbatim(): string {
    return this.hasThought && !this.isAssumed ? this.consumed : '';
  }

  /** Text that was taken for thinking and that no tag has ended; empty otherwise. */
  get unclosed(): string {
    return this.isAssumed && this.hasThought ? this.consumed : '';
  }

  /** The template of the model has written the opening tag. To be called before anything is added. */
  beginInside(): void {
    this.isAssumed = true;
  }

  /** Thinking has come apart from the text, so that no closing tag is unpaired. */
  skipLoneClosing(): void {
    this.hasOpening = true;
    if (this.phase === 'start') this.isAssumed = false;
  }

  /** `isJson`: the text is to be JSON. */
  add(piece: string, isJson: boolean): Segment[] {
    const segments: Segment[] = [];
    this.buffer += piece;
    if (this.phase !== 'text') this.consumed += piece;
    while (this.step(segments, isJson));
    return segments;
  }

  /** Returns the buffered text, once nothing follows. */
  end(): Segment[] {
    const { buffer, phase } = this;
    this.buffer = '';
    this.phase = 'text';
    if (phase === 'inside') return segmentOf(true, buffer.trimEnd());
    if (this.hasThought && phase === 'start') return segmentOf(false, buffer.trimStart());
    return segmentOf(false, buffer);
  }

  /** Whether something is left to be looked at. */
  private step(segments: Segment[], isJson: boolean): boolean {
    switch (this.phase) {
      case 'start':
        return this.readStart(segments, isJson);
      case 'inside':
        return this.readThinking(segments);
      case 'before-json':
        return this.readBeforeJson(segments);
      case 'text':
        return this.readText(segments);
    }
  }

  private readStart(segments: Segment[], isJson: boolean): boolean {
    const beginning = this.buffer.trimStart();
    if (beginning === '') return false;
    const tag = TAGS.find(([opening]) => beginning.startsWith(opening));
    if (tag !== undefined) {
      this.isAssumed = false;
      return this.beginThinking(tag[1], beginning.slice(tag[0].length));
    }
    if (TAGS.some(([opening]) => opening.startsWith(beginning))) return false;
    if (this.isAssumed) return this.beginThinking(LONE_CLOSING, beginning);
    if (isJson && !this.hasThought && !/^[[{`"]/.test(beginning)) {
      this.phase = 'before-json';
      return true;
    }
    if (this.hasThought) this.buffer = beginning;
    this.beginText();
    return this.readText(segments);
  }

  private beginThinking(closing: string, rest: string): boolean {
    this.phase = 'inside';
    this.hasThought = true;
    this.closing = closing;
    this.buffer = rest;
    this.isBlank = true;
    return true;
  }

  private readThinking(segments: Segment[]): boolean {
    const { closing } = this;
    if (this.isBlank) this.buffer = this.buffer.trimStart();
    const { buffer } = this;
    const at = buffer.indexOf(closing);
    if (at >= 0) {
      segments.push(...segmentOf(true, buffer.slice(0, at).trimEnd()));
      this.buffer = buffer.slice(at + closing.length);
      this.phase = 'start';
      this.isAssumed = false;
      return true;
    }
    // White space at the end of the thinking is left out.
    const sure = buffer.slice(0, buffer.length - lengthOfBegun(buffer, closing)).trimEnd();
    this.isBlank &&= sure === '';
    segments.push(...segmentOf(true, sure));
    this.buffer = buffer.slice(sure.length);
    return false;
  }

  private readBeforeJson(segments: Segment[]): boolean {
    const at = this.buffer.indexOf(LONE_CLOSING);
    if (at < 0) return false;
    segments.push(...segmentOf(true, this.buffer.slice(0, at).trim()));
    this.buffer = this.buffer.slice(at + LONE_CLOSING.length);
    this.hasThought = true;
    this.phase = 'start';
    return true;
  }

  private beginText(): void {
    this.phase = 'text';
    this.consumed = this.consumed.slice(0, this.consumed.length - this.buffer.length);
  }

  /**
   * Text that was passed on cannot be taken back, so that a closing tag alone only separates it from what follows: the tag is left
   * out, unless the text is about it.
   */
  private readText(segments: Segment[]): boolean {
    const { buffer } = this;
    const canClose = !this.hasThought && !this.hasOpening;
    const at = canClose ? buffer.indexOf(LONE_CLOSING) : -1;
    if (canClose && at >= 0 && !this.isMention(buffer, at)) {
      this.hasOpening = true;
      this.hasClosedAlone = true;
      this.buffer = '';
      const isApart = /\s$/.test(at === 0 ? this.previous : buffer.slice(0, at));
      const rest = buffer.slice(at + LONE_CLOSING.length);
      segments.push(...segmentOf(false, `${buffer.slice(0, at)}${isApart ? '' : '\n\n'}${rest}`));
      return false;
    }
    const partialLength = canClose && at < 0 ? lengthOfBegunTag(buffer) : 0;
    const sure = buffer.slice(0, buffer.length - partialLength);
    if (sure.includes(OPENING)) this.hasOpening = true;
    this.buffer = buffer.slice(sure.length);
    if (sure !== '') this.previous = sure;
    segments.push(...segmentOf(false, sure));
    return false;
  }

  private isMention(text: string, at: number): boolean {
    if (text.slice(0, at).includes(OPENING)) return true;
    const before = (at === 0 ? this.previous : text.slice(0, at)).slice(-1);
    const after = text.charAt(at + LONE_CLOSING.length);
    return isQuote(before) || isQuote(after);
  }
}

/** Splits the text of a complete answer: all that stands before an unpaired closing tag is thinking. */
export function splitThinking(text: string, hasOtherThinking: boolean): SplitAnswer {
  const tags = new ThinkTags();
  const lone = hasOtherThinking ? -1 : loneClosingIn(text);
  if (lone >= 0) {
    const rest = text.slice(lone + LONE_CLOSING.length).trimStart();
    const verbatim = text.slice(0, text.length - rest.length);
    return { thinking: text.slice(0, lone).trim(), text: rest, verbatim };
  }
  tags.skipLoneClosing();
  const segments = [...tags.add(text, false), ...tags.end()];
  const joined = (isThinking: boolean): string =>
    segments
      .filter((segment) => segment.isThinking === isThinking)
      .map((segment) => segment.text)
      .join('');
  return { thinking: joined(true), text: joined(false), verbatim: tags.verbatim };
}

interface SplitAnswer {
  readonly thinking: string;
  readonly text: string;
  readonly verbatim: string;
}

/** The position of a closing tag that has no opening tag and is not quoted; -1 without one. */
function loneClosingIn(text: string): number {
  const at = text.indexOf(LONE_CLOSING);
  if (at < 0 || text.lastIndexOf(OPENING, at) >= 0) return -1;
  const isQuoted = isQuote(text.charAt(at - 1)) || isQuote(text.charAt(at + LONE_CLOSING.length));
  return isQuoted ? -1 : at;
}

function isQuote(character: string): boolean {
  return character !== '' && QUOTES.includes(character);
}

function lengthOfBegunTag(text: string): number {
  return Math.max(lengthOfBegun(text, LONE_CLOSING), lengthOfBegun(text, OPENING));
}

function segmentOf(isThinking: boolean, text: string): Segment[] {
  return text === '' ? [] : [{ isThinking, text }];
}

/** A piece of a call on the wire. */
export interface ToolCallPiece {
  /** Position of the call among the calls of this answer. */
  readonly index?: number | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly arguments?: string | undefined;
  /** State that the service expects back with the call. */
  readonly extra?: JsonRecord | undefined;
}

interface OpenCall {
  /** The service's own. */
  id: string;
  name: string;
  readonly pieces: string[];
  extra: JsonRecord | undefined;
  /** The name came again after the arguments were complete: further arguments belong to another call. */
  isRepeated: boolean;
  completed: ToolCall | undefined;
}

/** The arguments of a call in a piece of it: JSON in a text, or the object itself. */
export function argumentsIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}

/** The field that holds the arguments of a call that no service would take back as they are. */
const UNREADABLE_FIELD = 'unreadable_arguments';

/** The arguments of a call that is sent back: services refuse a conversation whose calls do not have an object as arguments. */
export function sentInput(call: ToolCall): Readonly<Record<string, unknown>> {
  return call.invalid ? { [UNREADABLE_FIELD]: call.arguments } : call.input;
}

/** Joins the pieces of tool calls and parses each call strictly once, when the answer is finished. */
export class ToolCallCollector {
  private readonly byIndex = new Map<number, OpenCall>();
  private readonly calls: OpenCall[] = [];
  private readonly ids = new Set<string>();
  private handedOver = 0;

  get isEmpty(): boolean {
    return this.calls.length === 0;
  }

  /** State that the service expects back with the calls that were handed over, in their order. */
  get extras(): readonly CallExtra[] {
    const completedCalls = this.calls.flatMap(({ completed: call, extra }) =>
      call ? [{ call, extra }] : [],
    );
    if (completedCalls.every(({ extra }) => extra === undefined)) return [];
    return completedCalls.map(({ call: { id }, extra }) => ({ id, ...(extra && { extra }) }));
  }

  add(piece: ToolCallPiece): void {
    const call = this.callFor(piece);
    if (piece.extra) call.extra = { ...call.extra, ...piece.extra };
    if (call.completed || repeats(piece, call)) return;
    if (call.id === '' && piece.id) call.id = piece.id;
    if (call.name === '' && piece.name) call.name = piece.name;
    if (piece.arguments !== undefined) call.pieces.push(piece.arguments);
  }

  /**
   * The calls of an answer that ended for this reason and that were not handed over before. Throws UpstreamError (content) if it
   * ended in the middle of one or if one has no name, unless such calls are omitted; nothing is repaired. `isLast`: nothing
   * follows; until then, a call whose arguments cannot be read waits for the rest of them.
   */
  finish(
    reason: FinishReason,
    omitted: OmittedCalls | undefined,
    isLast: boolean,
  ): readonly ToolCall[] {
    if (this.handedOver === this.calls.length || reason === 'content-filter') return [];
    if (omitted === 'unusable') return this.usable(isLast);
    // The last one is what the model was writing when it reached its limit.
    const omitsLast = omitted === 'cut' && reason === 'length';
    if (!omitsLast && (reason === 'length' || reason === 'error')) throw cutCall(reason);
    return this.handOver(omitsLast ? this.calls.length - 1 : this.calls.length, isLast);
  }

  private usable(isLast: boolean): readonly ToolCall[] {
    const named = this.calls.slice(this.handedOver).filter(({ name }) => name !== '');
    const calls = named.map((call) => this.complete(call)).filter(({ invalid }) => !invalid);
    if (isLast || calls.length === named.length) this.handedOver = this.calls.length;
    return this.handedOver === this.calls.length ? calls : [];
  }

  private handOver(end: number, isLast: boolean): readonly ToolCall[] {
    const handed: ToolCall[] = [];
    for (; this.handedOver < end; this.handedOver += 1) {
      const call = this.calls[this.handedOver];
      if (call === undefined) break;
      if (call.name === '')
        throw contentError(msg`The model called a tool without naming it. Try again.`);
      const whole = this.complete(call);
      if (whole.invalid && !isLast) break;
      call.completed = whole;
      this.ids.add(whole.id);
      handed.push(whole);
    }
    return handed;
  }

  /** An id that the service does not give, or gives twice, is made. */
  private complete(call: OpenCall): ToolCall {
    if (call.completed) return call.completed;
    const json = call.pieces.join('');
    const isOwn = call.id !== '' && !this.ids.has(call.id);
    const id = isOwn ? call.id : `call_${randomUUID()}`;
    return readToolCall({ id, name: call.name, arguments: json.trim() === '' ? '{}' : json });
  }

  /**
   * The call that a piece belongs to. Services leave the index out or use one for every call, leave ids out or make a new one for
   * each piece, and repeat the name. So a piece begins a call if it has a new index, a new id with a name, or a name after the
   * arguments of the call before it were whole.
   */
  private callFor(piece: ToolCallPiece): OpenCall {
    const existing = this.findCall(piece);
    const isElsewhere = piece.index !== undefined && this.byIndex.get(piece.index) !== existing;
    if (existing !== undefined && !begins(piece, existing, isElsewhere)) return existing;
    const name = existing?.isRepeated ? existing.name : '';
    const call: OpenCall = {
      id: '',
      name,
      pieces: [],
      extra: undefined,
      isRepeated: false,
      completed: undefined,
    };
    this.calls.push(call);
    if (piece.index !== undefined) this.byIndex.set(piece.index, call);
    return call;
  }

  private findCall({ index, id, name }: ToolCallPiece): OpenCall | undefined {
    const placed = index === undefined ? undefined : this.byIndex.get(index);
    if (placed) return placed;
    const named = id ? this.calls.find((call) => call.id === id) : undefined;
    if (named) return named;
    // Arguments alone go on with the call before them, also where it came without an index.
    return index === undefined || !(id || name) ? this.calls.at(-1) : undefined;
  }
}

/** State that a service expects back with a call of this id. */
export interface CallExtra {
  readonly id: string;
  readonly extra?: JsonRecord;
}

/** `isElsewhere`: the piece has an index that the call has not had. */
function begins(piece: ToolCallPiece, open: OpenCall, isElsewhere: boolean): boolean {
  const { id, name, arguments: json } = piece;
  const hasArguments = !!json && json.trim() !== '';
  if (open.completed) return !!name && (!id || id !== open.id);
  if (id && open.id !== '' && id !== open.id) return !!name;
  if (!name) return open.isRepeated && hasArguments;
  if (open.name === '') return false;
  if (name !== open.name) return true;
  if (id && id === open.id && !isElsewhere) return false;
  if (!isWhole(open) || repeats(piece, open)) return false;
  open.isRepeated = true;
  return hasArguments;
}

/** The call comes once more, as in a last event that repeats the whole answer. */
function repeats({ id, arguments: json }: ToolCallPiece, open: OpenCall): boolean {
  if (!id || id !== open.id || !json?.trimEnd().endsWith('}')) return false;
  return open.pieces.join('') === json && isWhole(open);
}

function isWhole({ pieces }: OpenCall): boolean {
  const json = pieces.join('').trimEnd();
  return json.endsWith('}') && !readToolCall({ id: '', name: '', arguments: json }).invalid;
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

/** A tool call with its arguments parsed strictly. Never throws: a call whose arguments are not a JSON object is marked as invalid. */
export function readToolCall(call: Pick<ToolCall, 'id' | 'name' | 'arguments'>): ToolCall {
  const { id, name, arguments: text } = call;
  const input = objectIn(text.trim() === '' ? '{}' : text);
  return input
    ? { id, name, arguments: text, input }
    : { id, name, arguments: text, input: {}, invalid: true };
}

function objectIn(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Ends the text of one answer before the first of its stop sequences, for services that have none, refuse them, or repeat them at the
 * end. The end of a piece that may begin a sequence comes with a later piece.
 */
export class StopSequences {
  private readonly sequences: readonly string[];
  private buffer = '';
  /** A sequence has come: nothing more of the text counts. */
  hasStopped = false;

  constructor(sequences: readonly string[]) {
    this.sequences = sequences.filter((sequence) => sequence !== '');
  }

  /** Adds a piece and returns the text that can be passed on. */
  add(piece: string): string {
    if (this.hasStopped) return '';
    const text = this.buffer + piece;
    const places = this.sequences.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0);
    if (places.length > 0) {
      this.hasStopped = true;
      this.buffer = '';
      return text.slice(0, Math.min(...places));
    }
    const partialLength = Math.max(
      0,
      ...this.sequences.map((sequence) => lengthOfBegun(text, sequence)),
    );
    this.buffer = text.slice(text.length - partialLength);
    return text.slice(0, text.length - partialLength);
  }

  /** Returns the buffered text, once nothing follows. */
  end(): string {
    const { buffer } = this;
    this.buffer = '';
    return buffer;
  }
}

/** The number of last characters that may begin the sequence. */
export function lengthOfBegun(text: string, sequence: string): number {
  for (let length = Math.min(text.length, sequence.length - 1); length > 0; length -= 1) {
    if (text.endsWith(sequence.slice(0, length))) return length;
  }
  return 0;
}
