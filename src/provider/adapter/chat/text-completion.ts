import { z } from 'zod';
import type { OutboundResponse } from '../../../platform/outbound/index.js';
import type { ModelConnection, Usage } from '../model-call.js';
import { billedUsage, EventStreamDecoder } from '../model-call.js';
import { cutError, protocolError, UpstreamError, upstreamErrorOf } from '../upstream.error.js';
import { errorInAnswer, parseJson } from '../vendor-json.js';
import { msg } from '../../../platform/message/index.js';
import { namedGeneration } from './chat.adapter.js';
import type { ChatCall, ChatPart, FinishReason, GenerationNames } from './chat.adapter.js';

/** The endpoint for text completions, and how its request differs. */
export interface TextEndpoint {
  readonly url: string;
  /** Mistral's fill-in-the-middle refuses fields that it does not know. */
  readonly isFim: boolean;
}

/**
 * The endpoint beside that of chats: `/completions` of OpenAI, vLLM, llama.cpp, LM Studio and others; `/fim/completions` of Mistral,
 * which has no other; `/beta/completions` of DeepSeek (references of the vendors, November 2026).
 */
export function textEndpointBeside(chatUrl: string): TextEndpoint {
  const { hostname, origin } = new URL(chatUrl);
  if (hostname === 'api.deepseek.com') return { url: `${origin}/beta/completions`, isFim: false };
  const isFim = /(^|\.)mistral\.ai$/.test(hostname);
  const path = isFim ? '/fim/completions' : '/completions';
  return { url: chatUrl.replace(/\/chat\/completions(?=$|\?)/, path), isFim };
}

const GENERATION_NAMES: GenerationNames = {
  temperature: 'temperature',
  topP: 'top_p',
  maxTokens: 'max_tokens',
  stop: null,
  seed: 'seed',
  topK: null,
  frequencyPenalty: null,
  presencePenalty: null,
  effort: null,
  thinking: null,
  responseFormat: null,
};

export function textBody({ completion, ...call }: ChatCall, isFim: boolean): object {
  return {
    model: call.model,
    prompt: completion?.prompt ?? '',
    ...(completion?.suffix !== undefined && { suffix: completion.suffix }),
    ...namedGeneration(
      call,
      isFim ? { ...GENERATION_NAMES, seed: 'random_seed' } : GENERATION_NAMES,
    ),
    ...(call.stop?.length && { stop: call.stop }),
    stream: true,
    ...(!isFim && { stream_options: { include_usage: true } }),
  };
}

/** Refusals of services or models that complete no texts, or none with a suffix. */
const NO_ENDPOINT: ReadonlySet<number> = new Set([404, 405, 501]);
const NO_COMPLETION =
  /chat model|completions? (api|endpoint)|not support(ed)?\b.*\b(insert|suffix|completion)|suffix\b.*\bnot\b/i;

export function lacksTextCompletion(error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.status === undefined) return false;
  const { status, vendorText = '' } = error;
  return (
    NO_ENDPOINT.has(status) ||
    ((status === 400 || status === 422) && NO_COMPLETION.test(vendorText))
  );
}

const tokens = z.number().int().min(0).nullish().catch(undefined);
const answerSchema = z.object({
  choices: z
    .array(
      z.object({
        text: z.string().nullish().catch(undefined),
        // Mistral answers as a chat does.
        delta: z.object({ content: z.string().nullish().catch(undefined) }).nullish(),
        message: z.object({ content: z.string().nullish().catch(undefined) }).nullish(),
        finish_reason: z.string().nullish().catch(undefined),
      }),
    )
    .nullish()
    .catch(undefined),
  usage: z
    .looseObject({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens })
    .nullish()
    .catch(undefined),
  error: z.unknown().optional(),
});

const FINISH: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  content_filter: 'content-filter',
};

/** Reads a streamed completion, or one in one piece. */
export async function* readTextCompletion(
  response: OutboundResponse,
  connection: ModelConnection,
): AsyncGenerator<readonly ChatPart[], void, void> {
  const decoder = new EventStreamDecoder();
  const reader = new TextReader(connection);
  try {
    if (/^application\/json/i.test(response.headers['content-type'] ?? '')) {
      yield [...reader.read(await response.text(MAX_ANSWER_BYTES)), ...reader.end(true)];
      return;
    }
    for await (const bytes of response.body) {
      const parts = decoder.push(bytes).flatMap((data) => reader.read(data));
      if (parts.length > 0) yield parts;
    }
    const rest = decoder.end().flatMap((data) => reader.read(data));
    yield [...rest, ...reader.end(false)];
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

class TextReader {
  private finish: string | undefined;
  private isOver = false;

  constructor(private readonly connection: ModelConnection) {}

  read(data: string): ChatPart[] {
    if (data.trim() === '') return [];
    if (data.trim() === '[DONE]') {
      this.isOver = true;
      return [];
    }
    const read = answerSchema.safeParse(parseJson(data)).data;
    if (!read) throw protocolError(msg`The provider sent an event that is not an object.`);
    if (read.error) throw errorInAnswer(read.error, this.connection);
    const [choice] = read.choices ?? [];
    if (choice?.finish_reason) this.finish = choice.finish_reason;
    const text = choice?.text ?? choice?.delta?.content ?? choice?.message?.content ?? '';
    return [...textPart(text), ...usagePart(read.usage)];
  }

  end(isWhole: boolean): ChatPart[] {
    if (!isWhole && !this.isOver && this.finish === undefined) throw cutError();
    const reason = FINISH[this.finish ?? ''] ?? 'stop';
    return [{ type: 'finish', reason }];
  }
}

function textPart(text: string): ChatPart[] {
  return text === '' ? [] : [{ type: 'text-delta', text }];
}

function usagePart(usage: z.output<typeof answerSchema>['usage']): ChatPart[] {
  if (!usage) return [];
  const read: Usage = {
    inputTokens: usage.prompt_tokens ?? undefined,
    outputTokens: usage.completion_tokens ?? undefined,
    totalTokens: usage.total_tokens ?? undefined,
    billed: billedUsage(usage),
    raw: usage,
  };
  return [{ type: 'usage', usage: read }];
}

/** A chat model likes to put code into fences, which an editor would insert. The text comes at the end, in one piece. */
export async function* withoutFences(
  answer: AsyncIterable<readonly ChatPart[]>,
): AsyncGenerator<readonly ChatPart[], void, void> {
  let text = '';
  for await (const parts of answer) {
    const others: ChatPart[] = [];
    for (const part of parts) {
      if (part.type === 'text-delta') text += part.text;
      else if (part.type === 'finish') others.push(...textPart(unfenced(text)), part);
      else others.push(part);
    }
    if (others.length > 0) yield others;
  }
}

/** The content of the only fence of a text; the text where it has none. */
export function unfenced(text: string): string {
  const [, content] = /^\s*```[\w+#.-]*[ \t]*\r?\n([^]*?)\r?\n?```\s*$/.exec(text) ?? [];
  return content ?? text;
}
