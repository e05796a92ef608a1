import type { ChatModelStreamEvent } from '@langchain/core/language_models/event';
import { AIMessageChunk } from '@langchain/core/messages';
import type { UsageMetadata } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { defined } from '../platform/http/index.js';
import type { ChatPart, FinishReason, ProviderState, ToolCall, Usage } from '../provider/index.js';
import { stateMetadata, toLangChainCall, toLangChainInvalidCall } from './langchain.messages.js';

/** Finish reasons for LangChain programs, as in chat completions. */
const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'error',
  other: 'other',
};

/** The reasons that events of LangChain can have. */
const EVENT_REASONS = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filter',
  error: 'stop',
  other: 'stop',
} as const satisfies Readonly<Record<FinishReason, string>>;

/** A chunk that has invalid calls although it has no pieces of calls, which LangChain would parse leniently. */
class AnswerChunk extends AIMessageChunk {
  constructor(fields: ConstructorParameters<typeof AIMessageChunk>[0]) {
    super(fields);
    if (typeof fields !== 'string' && !Array.isArray(fields)) {
      this.invalid_tool_calls = fields.invalid_tool_calls ?? [];
    }
  }

  override concat(chunk: AIMessageChunk): this {
    const joined = super.concat(chunk);
    const { invalid_tool_calls: invalidCalls = [] } = this;
    joined.invalid_tool_calls = [...invalidCalls, ...(chunk.invalid_tool_calls ?? [])];
    return joined;
  }
}

/** Merged adjacent parts of one read. */
class Piece {
  text = '';
  reasoning = '';
  readonly toolCalls: ToolCall[] = [];
  providerState: ProviderState | undefined;
  usage: Usage | undefined;
  finish: FinishReason | undefined;

  add(part: ChatPart): void {
    switch (part.type) {
      case 'text-delta':
        this.text += part.text;
        break;
      case 'reasoning-delta':
        this.reasoning += part.text;
        break;
      case 'tool-call':
        this.toolCalls.push(part.toolCall);
        break;
      case 'provider-state':
        this.providerState = part.providerState;
        break;
      case 'usage':
        this.usage = part.usage;
        break;
      case 'finish':
        this.finish = part.reason;
        break;
    }
  }

  /** Reasoning is where LangChain's models of chat-completions have it; calls are whole, so LangChain parses none. */
  message(modelName: string): AIMessageChunk {
    const { text, reasoning, toolCalls, usage, finish, providerState } = this;
    return new AnswerChunk({
      content: text,
      additional_kwargs: reasoning === '' ? {} : { reasoning_content: reasoning },
      tool_calls: toolCalls.filter(({ invalid }) => !invalid).map(toLangChainCall),
      invalid_tool_calls: toolCalls.filter(({ invalid }) => invalid).map(toLangChainInvalidCall),
      response_metadata: {
        ...(finish !== undefined && metadataOf(finish, modelName)),
        ...stateMetadata(providerState),
      },
      ...defined({ usage_metadata: toUsageMetadata(usage) }),
    });
  }
}

/** A whole answer, collected from its parts. */
export class Answer {
  private readonly texts: string[] = [];
  private readonly reasonings: string[] = [];
  private readonly rest = new Piece();

  add(parts: readonly ChatPart[]): void {
    for (const part of parts) {
      if (part.type === 'text-delta') this.texts.push(part.text);
      else if (part.type === 'reasoning-delta') this.reasonings.push(part.text);
      else this.rest.add(part);
    }
  }

  message(modelName: string): AIMessageChunk {
    this.rest.text = this.texts.join('');
    this.rest.reasoning = this.reasonings.join('');
    return this.rest.message(modelName);
  }
}

/** One chunk for the parts of one read. */
export function toChunk(parts: readonly ChatPart[], modelName: string): ChatGenerationChunk {
  const piece = new Piece();
  for (const part of parts) piece.add(part);
  return new ChatGenerationChunk({ text: piece.text, message: piece.message(modelName) });
}

function metadataOf(finish: FinishReason, modelName: string): Record<string, string> {
  return { finish_reason: FINISH_REASONS[finish], model_name: modelName };
}

/** LangChain has no unknown counts, so a usage without both of them is left out. */
export function toUsageMetadata(usage: Usage | undefined): UsageMetadata | undefined {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens } =
    usage ?? {};
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens ?? inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && {
      input_token_details: { cache_read: cachedInputTokens },
    }),
    ...(reasoningTokens !== undefined && {
      output_token_details: { reasoning: reasoningTokens },
    }),
  };
}

type Block =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'reasoning'; reasoning: string };

/** Maps the parts of one answer to LangChain's events: a block for each run of text or thinking and for each call. */
export class AnswerEvents {
  private index = 0;
  private open: Block | undefined;
  private usage: UsageMetadata | undefined;
  private providerState: ProviderState | undefined;

  *read(parts: readonly ChatPart[], modelName: string): Generator<ChatModelStreamEvent> {
    for (const part of parts) {
      switch (part.type) {
        case 'text-delta': {
          const block = yield* this.blockOf('text');
          block.text += part.text;
          yield this.delta({ type: 'text-delta', text: part.text });
          break;
        }
        case 'reasoning-delta': {
          const block = yield* this.blockOf('reasoning');
          block.reasoning += part.text;
          yield this.delta({ type: 'reasoning-delta', reasoning: part.text });
          break;
        }
        case 'tool-call': {
          yield* this.close();
          const { toolCall } = part;
          const content = toolCall.invalid
            ? toLangChainInvalidCall(toolCall)
            : toLangChainCall(toolCall);
          yield { event: 'content-block-start', index: this.index, content };
          yield { event: 'content-block-finish', index: this.index, content };
          this.index += 1;
          break;
        }
        case 'provider-state':
          this.providerState = part.providerState;
          break;
        case 'usage':
          this.usage = toUsageMetadata(part.usage);
          break;
        case 'finish':
          yield* this.close();
          yield {
            event: 'message-finish',
            reason: EVENT_REASONS[part.reason],
            responseMetadata: {
              ...metadataOf(part.reason, modelName),
              ...stateMetadata(this.providerState),
            },
            ...defined({ usage: this.usage }),
          };
          break;
      }
    }
  }

  private delta(
    delta: Extract<ChatModelStreamEvent, { event: 'content-block-delta' }>['delta'],
  ): ChatModelStreamEvent {
    return { event: 'content-block-delta', index: this.index, delta };
  }

  /** The open block of the type; a block of another type ends before it. */
  private *blockOf<Type extends Block['type']>(
    type: Type,
  ): Generator<ChatModelStreamEvent, Extract<Block, { type: Type }>> {
    if (this.open?.type !== type) {
      yield* this.close();
      this.open =
        type === 'text' ? { type: 'text', text: '' } : { type: 'reasoning', reasoning: '' };
      yield { event: 'content-block-start', index: this.index, content: { ...this.open } };
    }
    return this.open as Extract<Block, { type: Type }>;
  }

  private *close(): Generator<ChatModelStreamEvent> {
    if (this.open === undefined) return;
    yield { event: 'content-block-finish', index: this.index, content: { ...this.open } };
    this.open = undefined;
    this.index += 1;
  }
}
