import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { EmbeddingClient, ModelResolver, UpstreamCalls } from '../model/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import type { ModelUser } from '../usage/index.js';
import { RetrievalService } from '../retrieval/index.js';
import { PlinthChatModel } from './chat-model.js';
import type { PlinthChatOptions } from './chat-model.js';
import { PlinthEmbeddings } from './embeddings.js';
import { KnowledgeRetriever } from './retriever.js';
import type { RetrieverOptions } from './retriever.js';

/** Whose models are called. */
type ModelOwner = ModelUser & Pick<Caller, 'revision'>;

/** Plinth's models and knowledge bases as parts of LangChain, each for one caller. */
@Injectable()
export class LangChain {
  private readonly defaults: Pick<PlinthChatOptions, 'limits' | 'attempts'>;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly models: ModelResolver,
    private readonly calls: UpstreamCalls,
    private readonly embedder: EmbeddingClient,
    private readonly knowledge: KnowledgeService,
    private readonly retrieval: RetrievalService,
  ) {
    this.defaults = {
      limits: {
        connectMs: config.CHAT_CONNECT_TIMEOUT_SECONDS * 1_000,
        idleMs: config.CHAT_IDLE_TIMEOUT_SECONDS * 1_000,
        totalMs: config.CHAT_STREAM_TIMEOUT_SECONDS * 1_000,
      },
      attempts: config.CHAT_ATTEMPTS,
    };
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

  /** The embedding model (category vector) of the name. Fails as ModelResolver does. */
  async embeddings(
    caller: ModelOwner,
    modelName: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<PlinthEmbeddings> {
    const model = await this.models.resolveEmbedding(caller, modelName);
    return new PlinthEmbeddings(this.embedder, model, { caller, feature: 'agent' }, signal);
  }

  /** Searches the bases with the rights that the caller has at each search. */
  retriever(
    caller: Caller,
    knowledgeIds: readonly number[],
    options: RetrieverOptions = {},
  ): KnowledgeRetriever {
    const scope = { caller, knowledgeIds };
    return new KnowledgeRetriever(this.knowledge, this.retrieval, scope, options);
  }
}
