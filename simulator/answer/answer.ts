import { randomUUID } from 'node:crypto';
import type { Behaviour, ScriptedToolCall } from '../behaviour/behaviour.js';
import { canThink } from '../chat/chat-request.js';
import type { ChatRequest } from '../chat/chat-request.js';
import { compose } from './compose.js';
import { estimateTokens } from './tokens.js';

/** Output of the model in order, independent of protocols; the strings are its chunks. */
export type Piece =
  | { kind: 'reasoning' | 'text' | 'refusal'; chunks: string[] }
  | { kind: 'tool'; id: string; name: string; chunks: string[] };

export interface Usage {
  promptTokens: number;
  completionTokens: number;
}

export interface Answer {
  pieces: Piece[];
  /** Finish reason in the words of chat-completions, or `refusal`. */
  finish: string;
  usage: Usage | undefined;
}

/** Stands in the text for bytes that are not UTF-8; the writer replaces it. */
export const INVALID_BYTES_MARK = '\u{E0FF}';

const UNICODE_TEXT =
  '你好，世界！👋🏽 こんにちは 안녕하세요 — naïve café, 👨‍👩‍👧‍👦 family, 🇨🇳 flag, 𠮷 rare, “quotes” ✓';
const REFUSAL_TEXT = 'I am sorry, but I cannot help with that.';
const HUGE_BYTES = 2 * 1024 * 1024;
const ARGUMENT_CHUNK = 7;
/** Arguments that are longer come in larger chunks: a megabyte in sevens would take minutes. */
const LONG_ARGUMENTS = 16 * 1024;
const LONG_ARGUMENT_CHUNK = 1024;

export function answerTo(request: ChatRequest, behaviour: Behaviour): Answer {
  const pieces = piecesFor(request, behaviour);
  return {
    pieces,
    finish: behaviour.finishReason ?? finishOf(pieces, behaviour),
    usage: behaviour.noUsage ? undefined : { ...usageOf(request, pieces), ...reported(behaviour) },
  };
}

function piecesFor(request: ChatRequest, behaviour: Behaviour): Piece[] {
  if (behaviour.refusal) return [{ kind: 'refusal', chunks: words(REFUSAL_TEXT) }];
  const composed = compose(request);
  const reasons = canThink(request.model) ? composed.reasoning : '';
  const scripted = toolCallsFor(request, behaviour);
  const text = textFor(request, behaviour);
  const calls = scripted ?? (text === undefined ? composed.toolCalls : []);
  const pieces: Piece[] = [
    { kind: 'reasoning', chunks: words(behaviour.reasoning ?? reasons) },
    { kind: 'text', chunks: text ?? (scripted?.length ? [] : words(composed.text)) },
    ...calls.map(toolPiece),
  ];
  return pieces.filter((piece) => piece.kind === 'tool' || piece.chunks.length > 0);
}

/** The text that the behaviour asks for, or undefined when it leaves the answer to the model. */
function textFor(request: ChatRequest, behaviour: Behaviour): string[] | undefined {
  const chunks = chosenText(request, behaviour);
  if (!behaviour.wrongUtf8) return chunks;
  return [`before${INVALID_BYTES_MARK}after `, ...(chunks ?? [])];
}

function chosenText(request: ChatRequest, behaviour: Behaviour): string[] | undefined {
  if (behaviour.text !== undefined) return words(behaviour.text);
  if (behaviour.echo) {
    return words(request.messages.findLast((message) => message.role === 'user')?.text ?? '');
  }
  if (behaviour.unicode) return words(UNICODE_TEXT);
  if (behaviour.huge) return ['x'.repeat(HUGE_BYTES)];
  if (behaviour.chunks === undefined) return undefined;
  return Array.from({ length: behaviour.chunks }, (_, index) => `tok${index} `);
}

/** The calls that the behaviour asks for, or undefined when it leaves them to the model. */
function toolCallsFor(request: ChatRequest, behaviour: Behaviour): ScriptedToolCall[] | undefined {
  if (behaviour.toolCalls !== undefined) return behaviour.toolCalls;
  const hasResult = request.messages.at(-1)?.role === 'tool';
  if (behaviour.toolCall === undefined || hasResult) return undefined;
  return [{ name: behaviour.toolCall }];
}

function toolPiece(call: ScriptedToolCall): Piece {
  const { id = `call_${randomUUID().slice(0, 8)}`, name, arguments: given = {} } = call;
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const size = text.length > LONG_ARGUMENTS ? LONG_ARGUMENT_CHUNK : ARGUMENT_CHUNK;
  return { kind: 'tool', id, name, chunks: slices(text, size) };
}

function finishOf(pieces: readonly Piece[], behaviour: Behaviour): string {
  if (behaviour.length) return 'length';
  if (behaviour.refusal) return 'refusal';
  return pieces.some((piece) => piece.kind === 'tool') ? 'tool_calls' : 'stop';
}

function usageOf(request: ChatRequest, pieces: readonly Piece[]): Usage {
  const prompt = request.messages.map((message) => message.text).join('\n');
  const completion = pieces.flatMap((piece) => piece.chunks).join('');
  return { promptTokens: estimateTokens(prompt), completionTokens: estimateTokens(completion) };
}

/** The numbers that the behaviour asks for. */
function reported({ inputTokens, outputTokens }: Behaviour): Partial<Usage> {
  return {
    ...(inputTokens !== undefined && { promptTokens: inputTokens }),
    ...(outputTokens !== undefined && { completionTokens: outputTokens }),
  };
}

/** Cuts a text into words with the white space after them, and CJK runs into a few characters. */
function words(text: string): string[] {
  return (text.match(/\s*\S+\s*/gu) ?? (text ? [text] : [])).flatMap((word) => cutLong(word));
}

function cutLong(word: string): string[] {
  const isCjk = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(word);
  return slices(word, isCjk ? 3 : 24);
}

function slices(text: string, size: number): string[] {
  const characters = [...text];
  const count = Math.ceil(characters.length / size);
  return Array.from({ length: count }, (_, i) =>
    characters.slice(i * size, (i + 1) * size).join(''),
  );
}
