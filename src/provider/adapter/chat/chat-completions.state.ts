import { z } from 'zod';
import { isRecord, recordsIn, textIn, wholeNumberIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import type { ChatMessage } from './chat.adapter.js';
import type { FoundState, StateData } from './stream-mapping.js';

/**
 * What services of chat-completions want back with an answer that called a tool, in the spelling in which it came:
 * - `reasoning_content`: DeepSeek V4 refuses every later request without it (api-docs.deepseek.com, "Thinking Mode", 2026-04), also
 *   where it is empty; Kimi, GLM, MiMo and Qwen read it.
 * - `reasoning`: vLLM, Groq, OpenRouter. `reasoning_details`: OpenRouter ("Reasoning Tokens") and MiniMax; blocks come in pieces and
 *   go back whole.
 * - `extra_content` of a call: the thought signature without which Gemini 3 answers 400 (ai.google.dev, "Thought signatures").
 * - thinking parts of the content: Mistral.
 * - thinking between tags in the text: MiniMax M2 and Qwen3 read it there.
 */
type ChatCompletionsState = z.output<typeof stateSchema>;

/** Fields of a detail that come in pieces. */
const JOINED_FIELDS = ['text', 'summary', 'data'];

/** Collects the state in the pieces of an answer. */
export class StateCollector {
  private readonly texts: { reasoning_content?: string[]; reasoning?: string[] } = {};
  private readonly details: Record<string, unknown>[] = [];
  private readonly thinkingParts: Record<string, unknown>[] = [];
  private extra: JsonRecord | undefined;

  add(message: JsonRecord): void {
    // Most pieces have none of them, and this runs for each.
    const { reasoning_content: content, reasoning, extra_content: extra } = message;
    if (typeof content === 'string') (this.texts.reasoning_content ??= []).push(content);
    if (typeof reasoning === 'string') (this.texts.reasoning ??= []).push(reasoning);
    if (message['reasoning_details']) {
      for (const piece of recordsIn(message, 'reasoning_details')) this.addDetail(piece);
    }
    if (Array.isArray(message['content'])) {
      for (const part of recordsIn(message, 'content')) {
        if (part['type'] === 'thinking') this.addThinkingPart(part);
      }
    }
    if (isRecord(extra)) this.extra = { ...this.extra, ...extra };
  }

  data({ thinkingInText, callExtras, hasCalls }: FoundState): StateData | undefined {
    const { reasoning_content: content, reasoning } = this.texts;
    const isNamed = hasCalls && content !== undefined && reasoning === undefined;
    const thought = content?.join('');
    const data: ChatCompletionsState = {
      // Where it is empty, the field itself is what the service looks for.
      ...((thought || (isNamed && thought !== undefined)) && { reasoning_content: thought }),
      ...(reasoning?.some((text) => text !== '') && { reasoning: reasoning.join('') }),
      ...(this.details.length > 0 && { reasoning_details: this.details }),
      ...(this.thinkingParts.length > 0 && { thinking_parts: this.thinkingParts }),
      ...(this.extra && { extra_content: this.extra }),
      ...(thinkingInText !== '' && { thinking_in_text: thinkingInText }),
      ...(callExtras.length > 0 && { calls: callExtras }),
    };
    return Object.keys(data).length > 0 ? { ...data } : undefined;
  }

  /** Pieces of one block have its index and type; those without an index go on with the last block of their type. */
  private addDetail(piece: JsonRecord): void {
    const index = wholeNumberIn(piece, 'index');
    const last = this.details.at(-1);
    const known =
      index === undefined
        ? last && last['type'] === piece['type'] && !closes(last) && piece['type'] !== ENCRYPTED
          ? last
          : undefined
        : this.details.find((one) => one['index'] === index && one['type'] === piece['type']);
    if (known === undefined) {
      this.details.push({ ...piece });
      return;
    }
    for (const [field, value] of Object.entries(piece)) {
      const before = known[field];
      if (
        JOINED_FIELDS.includes(field) &&
        typeof value === 'string' &&
        typeof before === 'string'
      ) {
        known[field] = before + value;
      } else if (value !== null && value !== undefined) known[field] = value;
    }
  }

  private addThinkingPart(part: JsonRecord): void {
    const last = this.thinkingParts.at(-1);
    if (last === undefined) {
      this.thinkingParts.push({ ...part });
      return;
    }
    const { thinking, ...others } = part;
    const text = thoughtIn(last['thinking']) + thoughtIn(thinking);
    const joined = typeof thinking === 'string' ? text : [{ type: 'text', text }];
    Object.assign(last, others, { thinking: joined });
  }
}

const ENCRYPTED = 'reasoning.encrypted';

/** A signature ends a block. */
function closes(detail: JsonRecord): boolean {
  return typeof detail['signature'] === 'string' && detail['signature'] !== '';
}

/** The text of a thinking part: a text, or a list of text parts. */
export function thoughtIn(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  if (!Array.isArray(thinking)) return '';
  return thinking.map((one) => (isRecord(one) ? (textIn(one, 'text') ?? '') : '')).join('');
}

/** Clients of the compatible API keep states, so that one may hold anything. What is not of its type is left out. */
export function readState(data: StateData): ChatCompletionsState {
  const read: [string, unknown][] = Object.entries(stateSchema.safeParse(data).data ?? {});
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

const record = z.record(z.string(), z.unknown());
const stateSchema = z.object({
  reasoning_content: z.string().optional().catch(undefined),
  reasoning: z.string().optional().catch(undefined),
  reasoning_details: z.array(record).optional().catch(undefined),
  extra_content: record.optional().catch(undefined),
  thinking_parts: z.array(record).optional().catch(undefined),
  thinking_in_text: z.string().optional().catch(undefined),
  calls: z
    .array(z.object({ id: z.string(), extra: record.optional() }))
    .readonly()
    .optional()
    .catch(undefined),
});

/** How the states of a conversation go back. */
export interface WantedStates {
  readonly areWanted: boolean;
  /** The state of an answer that has none. */
  readonly missing: ChatCompletionsState;
}

/**
 * States go back in a conversation with calls of tools, with each of its answers. DeepSeek V4 and Kimi look for the thinking of all
 * answers then, be it empty where the model has not thought; without calls it is ignored, and the R1 that others serve refuses it.
 */
export function wantedStates(messages: readonly ChatMessage[]): WantedStates {
  const answers = messages.filter((message) => message.role === 'assistant');
  const hasField = answers.some(
    ({ providerState }) => typeof providerState?.data['reasoning_content'] === 'string',
  );
  return {
    areWanted: answers.some(({ toolCalls }) => !!toolCalls?.length),
    missing: hasField ? { reasoning_content: '' } : {},
  };
}

/** The fields of an answer that is sent back, beside its role. */
export interface WireAnswer {
  readonly content: string | null;
  readonly tool_calls?: readonly (JsonRecord & { readonly id: string })[];
}

/** The same with its state. */
export function withState(answer: WireAnswer, state: ChatCompletionsState): JsonRecord {
  const { thinking_parts: parts, thinking_in_text: inText, calls, ...fields } = state;
  const text = answer.content ?? '';
  return {
    ...answer,
    ...(inText && { content: inText + text }),
    ...(parts?.length && {
      content: [...parts, ...(text === '' ? [] : [{ type: 'text', text }])],
    }),
    ...fields,
    ...(calls && answer.tool_calls && { tool_calls: withExtras(answer.tool_calls, calls) }),
  };
}

/** By the id of the call; by its place where the ids were changed. */
function withExtras(
  calls: NonNullable<WireAnswer['tool_calls']>,
  extras: NonNullable<ChatCompletionsState['calls']>,
): readonly JsonRecord[] {
  const isById = calls.some(({ id }) => extras.some((one) => one.id === id));
  return calls.map((call, at) => {
    const extra = (isById ? extras.find(({ id }) => id === call.id) : extras[at])?.extra;
    return extra ? { ...call, extra_content: extra } : call;
  });
}
