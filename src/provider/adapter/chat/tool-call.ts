import { randomUUID } from 'node:crypto';
import { isRecord } from '../json-fields.js';
import { UpstreamError } from '../upstream.error.js';
import type { FinishReason, ToolCall } from './chat.adapter.js';

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
export class ToolCallCollector {
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
   * the middle of one or if one cannot be parsed; nothing is repaired.
   */
  finish(reason: FinishReason): readonly ToolCall[] {
    if (this.calls.length === 0 || reason === 'content-filter') return [];
    if (reason !== 'tool-calls' && reason !== 'stop') throw cutCall(reason);
    return this.calls.map(({ id, name, pieces }) => toolCallOf(id, name, pieces.join('')));
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
function toolCallOf(id: string, name: string, json: string): ToolCall {
  if (name === '') throw contentError('The model called a tool without naming it. Try again.');
  const text = json.trim() === '' ? '{}' : json;
  return { id: id || `call_${randomUUID()}`, name, arguments: text, input: inputOf(name, text) };
}

function inputOf(name: string, json: string): Readonly<Record<string, unknown>> {
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch (cause) {
    throw unusableArguments(name, cause);
  }
  if (!isRecord(input)) throw unusableArguments(name);
  return input;
}

function unusableArguments(name: string, cause?: unknown): UpstreamError {
  const shown = name.replace(/[^\w.-]/g, '').slice(0, 64);
  return contentError(
    `The model called the tool ${shown} with arguments that are not a JSON object. Try again, or use another model.`,
    cause,
  );
}

function cutCall(reason: FinishReason): UpstreamError {
  return contentError(
    reason === 'length'
      ? 'The answer reached its length limit in the middle of a tool call. Raise the maximum output.'
      : 'The answer ended in the middle of a tool call. Try again.',
  );
}

function contentError(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ kind: 'content', message, cause });
}
