import { hideVariables } from '../platform/config/index.js';
import type { Caller } from '../platform/access/index.js';
import { CHAT_LIMITS } from '../model/index.js';
import type { ModelResolver, ResolvedChatModel, UpstreamCalls } from '../model/index.js';
import type { ModelUser } from '../usage/index.js';
import { PlinthChatModel } from './chat-model.js';
import type { PlinthChatOptions } from './chat-model.js';

/** Environment variables that make LangChain send conversations to a tracing service, print them, or read others. */
const VARIABLES = /^(LANGCHAIN|LANGSMITH|LANGGRAPH)_/;

/** Caller whose models are used. */
type ModelOwner = ModelUser & Pick<Caller, 'revision' | 'permissions' | 'subjects'>;

/** Plinth's chat models as parts of LangChain. */
export class LangChain {
  private readonly defaults: Pick<PlinthChatOptions, 'limits' | 'attempts'>;

  constructor(
    private readonly models: ModelResolver,
    private readonly calls: UpstreamCalls,
  ) {
    hideVariables(VARIABLES);
    const { attempts, ...limits } = CHAT_LIMITS;
    this.defaults = { limits, attempts };
  }

  /** The chat model of the name or, without one, the first that end users may choose. Fails as ModelResolver does. */
  async chatModel(
    caller: ModelOwner,
    modelName: string | undefined,
    options: Partial<PlinthChatOptions> = {},
  ): Promise<PlinthChatModel> {
    const use = { caller, feature: 'agent' } as const;
    return this.chatModelOf(await this.models.resolveChat(caller, modelName), { use, ...options });
  }

  /** A chat model that is resolved already. Limits and attempts are those of chat unless given. */
  chatModelOf(
    model: ResolvedChatModel,
    options: Partial<PlinthChatOptions> & Pick<PlinthChatOptions, 'use'>,
  ): PlinthChatModel {
    return new PlinthChatModel(model, this.calls, { ...this.defaults, ...options });
  }
}
