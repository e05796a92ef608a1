import { isRecord } from './vendor-json.js';
import type { JsonRecord } from './vendor-json.js';

interface Placeholder {
  /** The text with which services refuse a conversation that lacks the thinking of their model. */
  readonly refusal: RegExp;
  /** Whether further calls of the model need it, too. False where it changes how the model answers. */
  readonly isLasting: boolean;
  /** The body with what the service takes instead; the same object where it lacks nothing. */
  change(body: JsonRecord): JsonRecord;
}

/**
 * Placeholders for thinking that is missing from the conversation: clients drop fields that they do not know, and another model may
 * have made a call. Real states go back by ProviderState; these only fill the places that are left.
 */
const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  // DeepSeek V4 with tools asks for the field on every assistant message and takes an empty text (MoonshotAI/kimi-cli #2141 and
  // openclaw #73417, 2026-04 and 05). Kimi asks for it on those with calls.
  reasoning_content: {
    refusal:
      /reasoning_content.{0,80}(?:must be passed back|is missing)|missing.{0,20}reasoning_content/i,
    isLasting: true,
    change: (body) =>
      withAssistants(body, (message) =>
        typeof message['reasoning_content'] === 'string' || typeof message['reasoning'] === 'string'
          ? message
          : { ...message, reasoning_content: '' },
      ),
  },
  // The value that Google documents for calls which its model has not made (ai.google.dev/gemini-api/docs/thought-signatures).
  thought_signature: {
    refusal: /missing a `?thought_?signature/i,
    isLasting: true,
    change: (body) => withAssistants(body, withSkippedSignature),
  },
  // The messages protocol has no empty thinking: a conversation without it goes on without thinking.
  'thinking blocks': {
    refusal:
      /must start with a thinking block|expected `?thinking`? or `?redacted_thinking|content\[\]\.thinking.{0,60}must be passed back/i,
    isLasting: false,
    change: (body) =>
      Array.isArray(body['messages']) && !isDisabled(body['thinking'])
        ? { ...body, thinking: { type: 'disabled' } }
        : body,
  },
};

/** Marks a finding of this file in place of the name that is sent instead. */
export const FILLED_IN = 'filled in';

/** The finding that a clause of a refusal is about; undefined for another one. */
export function missingStateIn(
  clause: string,
): { readonly name: string; readonly value: string; readonly isLasting: boolean } | undefined {
  for (const [name, { refusal, isLasting }] of Object.entries(PLACEHOLDERS)) {
    if (refusal.test(clause)) return { name, value: FILLED_IN, isLasting };
  }
  return undefined;
}

export function withPlaceholder(body: JsonRecord, name: string): JsonRecord {
  return PLACEHOLDERS[name]?.change(body) ?? body;
}

/** The body with changed assistant messages; the same object where none is changed. */
function withAssistants(body: JsonRecord, change: (message: JsonRecord) => JsonRecord): JsonRecord {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  const changed = messages.map((message: unknown) =>
    isRecord(message) && message['role'] === 'assistant' ? change(message) : message,
  );
  return changed.some((message, at) => message !== messages[at])
    ? { ...body, messages: changed }
    : body;
}

const SKIPPED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Google requires a signature only on the first call of a message. */
function withSkippedSignature(message: JsonRecord): JsonRecord {
  const { tool_calls: calls } = message;
  const [first, ...others] = Array.isArray(calls) ? (calls as readonly unknown[]) : [];
  if (!isRecord(first)) return message;
  const extra = isRecord(first['extra_content']) ? first['extra_content'] : {};
  if (isRecord(extra['google']) && extra['google']['thought_signature'] !== undefined) {
    return message;
  }
  const signed = { ...first, extra_content: { ...extra, ...SKIPPED } };
  return { ...message, tool_calls: [signed, ...others] };
}

function isDisabled(thinking: unknown): boolean {
  return isRecord(thinking) && thinking['type'] === 'disabled';
}
