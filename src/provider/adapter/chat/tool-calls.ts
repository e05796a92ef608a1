import { randomUUID } from 'node:crypto';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { UpstreamError } from '../upstream.error.js';
import type { JsonRecord } from '../json-fields.js';
import type { FinishReason, OmittedCalls, ToolCall } from './chat.adapter.js';

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
      ...{ id: '', name, pieces: [], extra: undefined, isRepeated: false, completed: undefined },
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
