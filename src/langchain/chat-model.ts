import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type {
  BaseChatModelCallOptions,
  BindToolsInput,
} from '@langchain/core/language_models/chat_models';
import type { ChatModelStreamEvent } from '@langchain/core/language_models/event';
import type { BaseLanguageModelInput } from '@langchain/core/language_models/base';
import type { ModelProfile } from '@langchain/core/language_models/profile';
import type { AIMessageChunk, BaseMessage, MessageContent } from '@langchain/core/messages';
import type { ChatGenerationChunk, ChatResult } from '@langchain/core/outputs';
import { ensureConfig } from '@langchain/core/runnables';
import type { Runnable } from '@langchain/core/runnables';
import { IterableReadableStream } from '@langchain/core/utils/stream';
import { defined } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { estimateTokens, tokenCounter } from '../model/index.js';
import type { LearnedWindow, ModelUse, ResolvedChatModel, UpstreamCalls } from '../model/index.js';
import { generationIn } from '../provider/index.js';
import type { CallLimits, ChatCall, ChatPart, Generation } from '../provider/index.js';
import { Answer, AnswerEvents, toChunk } from './langchain.answer.js';
import { ModelAbilityError, UnsupportedOptionError } from './langchain.errors.js';
import { toChatMessages } from './langchain.messages.js';
import { toolFields, toToolDefinitions } from './langchain.tools.js';

/** The model does not check answers for which a response format is set. */
export interface PlinthChatOptions extends Generation {
  readonly use: ModelUse;
  readonly limits: CallLimits;
  /** Maximum attempts, including the first. There is no retry after the first part of an answer. */
  readonly attempts: number;
  /** Ends every call of the model. The signal of a call ends that call as well. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Shortens the messages of a call once when they are longer than the window of the model, and those of the calls that follow. A call
   * that is too long fails where it is absent.
   */
  readonly window?: LearnedWindow | undefined;
  /**
   * Gets the parts of every answer as the adapter yields them, before LangChain does. Reading waits for the promise, and
   * what it throws ends the call.
   */
  readonly onParts?: ((parts: readonly ChatPart[]) => void | Promise<void>) | undefined;
}

/** Generation parameters of a call take precedence over those of the model. */
export interface PlinthChatCallOptions
  extends BaseChatModelCallOptions, Omit<Generation, 'stop' | 'responseFormat'> {
  tools?: BindToolsInput[];
}

interface ModelCall {
  readonly parts: AsyncIterable<readonly ChatPart[]>;
  /** The name of the model that answers. */
  readonly modelName: string;
}

/**
 * A chat model of Plinth for LangChain and LangGraph. Every call streams, uses the model's record as it is then, and is
 * retried only as `attempts` says. Fails as the adapters do: with UpstreamError for a failed call, for an answer that is
 * cut; with InvalidInputError for what cannot be sent. Nothing is repaired: calls of tools whose arguments are not a JSON object are in
 * `invalid_tool_calls`, and can be sent back with a result that says so. Sends no traces.
 */
export class PlinthChatModel extends BaseChatModel<PlinthChatCallOptions> {
  static override lc_name(): string {
    return 'PlinthChatModel';
  }

  constructor(
    private readonly model: ResolvedChatModel,
    private readonly calls: Pick<UpstreamCalls, 'stream'>,
    private readonly options: PlinthChatOptions,
  ) {
    // Fixed output format regardless of the environment, no retries of LangChain, and no cache between callers.
    super({ maxRetries: 0, outputVersion: 'v0' });
  }

  override _llmType(): string {
    return 'plinth';
  }

  /** Facts from the model's record; undefined if unknown. */
  override get profile(): ModelProfile {
    const { contextWindow, maxOutput, supportsTools, supportsVision } = this.model;
    return {
      structuredOutput: false,
      ...defined({
        maxInputTokens: contextWindow,
        maxOutputTokens: maxOutput,
        toolCalling: supportsTools,
        imageInputs: supportsVision,
      }),
    };
  }

  /** Counts by the vocabulary of the model where it is known, else roughly; LangChain's own would fetch a tokenizer. */
  override async getNumTokens(content: MessageContent): Promise<number> {
    const texts =
      typeof content === 'string'
        ? [content]
        : content.map((block) => (typeof block['text'] === 'string' ? block['text'] : ''));
    const text = texts.join('');
    const counter = await tokenCounter(this.model.modelName);
    return counter.isExact ? counter.count(text) : estimateTokens(text);
  }

  override bindTools(
    tools: BindToolsInput[],
    options?: Partial<PlinthChatCallOptions>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, PlinthChatCallOptions> {
    const definitions = toToolDefinitions(tools).map((tool) => ({ ...tool }));
    return this.withConfig({ ...options, tools: definitions });
  }

  /** Ends the call as soon as the stream is abandoned. LangChain reads ahead and would wait for the next chunk. */
  override async stream(
    input: BaseLanguageModelInput,
    options?: Partial<PlinthChatCallOptions>,
  ): Promise<IterableReadableStream<AIMessageChunk>> {
    const abandoned = new AbortController();
    const config = ensureConfig<Partial<PlinthChatCallOptions>>(options);
    const signal = eitherOf(config.signal, abandoned.signal);
    const chunks = await super.stream(input, { ...config, signal });
    return new IterableReadableStream<AIMessageChunk>({
      pull: async (controller) => {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => {
        abandoned.abort();
        await chunks.return();
      },
    });
  }

  override async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
  ): Promise<ChatResult> {
    const call = this.call(messages, options);
    const answer = new Answer();
    for await (const parts of call.parts) answer.add(parts);
    const message = answer.message(call.modelName);
    const { usage_metadata: usage } = message;
    return {
      generations: [{ text: message.text, message }],
      ...(usage && {
        llmOutput: {
          tokenUsage: {
            promptTokens: usage.input_tokens,
            completionTokens: usage.output_tokens,
            totalTokens: usage.total_tokens,
          },
        },
      }),
    };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const call = this.call(messages, options);
    for await (const parts of call.parts) {
      const chunk = toChunk(parts, call.modelName);
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
  }

  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
  ): AsyncGenerator<ChatModelStreamEvent> {
    const call = this.call(messages, options);
    const events = new AnswerEvents();
    let isStarted = false;
    for await (const parts of call.parts) {
      if (!isStarted) yield { event: 'message-start' };
      isStarted = true;
      yield* events.read(parts, call.modelName);
    }
  }

  /** Nothing is sent before the parts are read. Throws InvalidInputError for what cannot be sent. */
  private call(messages: readonly BaseMessage[], options: this['ParsedCallOptions']): ModelCall {
    const { calls, model: resolvedModel, options: modelOptions } = this;
    const { use, limits, attempts, onParts, window } = modelOptions;
    const request = this.requestOf(messages, options);
    const fitted = window?.call(request.messages);
    const signal = eitherOf(modelOptions.signal, options.signal);
    let { modelName } = resolvedModel;
    const callOf = (model: ResolvedChatModel): Omit<ChatCall, 'model'> => {
      ({ modelName } = model);
      requireAbilities(model, request);
      return fitted ? { ...request, messages: fitted.messages } : request;
    };
    async function* read(): AsyncGenerator<readonly ChatPart[]> {
      const overflow = defined({ overflow: fitted?.overflow });
      const call = { use, limits, signal, attempts, ...overflow };
      for await (const parts of calls.stream(resolvedModel, callOf, call)) {
        await onParts?.(parts);
        yield parts;
      }
    }
    return {
      parts: read(),
      get modelName() {
        return modelName;
      },
    };
  }

  private requestOf(
    messages: readonly BaseMessage[],
    options: this['ParsedCallOptions'],
  ): Omit<ChatCall, 'model'> {
    if ('response_format' in options) {
      throw new UnsupportedOptionError(
        msg`response_format is not supported. Use toolStrategy, or withStructuredOutput of the model.`,
      );
    }
    return {
      messages: toChatMessages(messages),
      ...toolFields(toToolDefinitions(options.tools ?? []), options.tool_choice),
      ...generationIn(this.options),
      ...generationIn(options),
    };
  }
}

function requireAbilities(model: ResolvedChatModel, request: Omit<ChatCall, 'model'>): void {
  const { modelName, supportsTools, supportsVision } = model;
  if (supportsTools === false && request.tools) throw ModelAbilityError.tools(modelName);
  if (supportsVision !== false) return;
  const hasImages = request.messages.some(
    ({ content }) => typeof content !== 'string' && content.some(({ type }) => type !== 'text'),
  );
  if (hasImages) throw ModelAbilityError.images(modelName);
}

function eitherOf(
  modelSignal: AbortSignal | undefined,
  callSignal: AbortSignal | undefined,
): AbortSignal {
  if (modelSignal && callSignal) return AbortSignal.any([modelSignal, callSignal]);
  return modelSignal ?? callSignal ?? new AbortController().signal;
}
