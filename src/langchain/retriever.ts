import { AsyncLocalStorage } from 'node:async_hooks';
import { Document } from '@langchain/core/documents';
import { BaseRetriever } from '@langchain/core/retrievers';
import { ensureConfig } from '@langchain/core/runnables';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { Caller } from '../platform/access/index.js';
import type { KnowledgeBase, KnowledgeService } from '../knowledge/index.js';
import type { MetadataFilter } from '../metadata/index.js';
import { fragmentReference, inTurn } from '../retrieval/index.js';
import type {
  FragmentReference,
  RetrievalOverrides,
  RetrievalService,
  RetrievedFragment,
} from '../retrieval/index.js';

export interface RetrieverOptions {
  /** Documents in all; without it, as many as the bases have in their settings. */
  readonly limit?: number | undefined;
  /** Replace the settings of every base. */
  readonly overrides?: RetrievalOverrides | undefined;
  /** Only documents whose metadata fits. */
  readonly filter?: MetadataFilter | undefined;
  /** Ends every search. The signal of a call ends that search as well. */
  readonly signal?: AbortSignal | undefined;
}

/** What a retriever searches, and for whom. */
export interface RetrieverScope {
  readonly caller: Caller;
  readonly knowledgeIds: readonly number[];
}

/**
 * Searches knowledge bases with the rights of a caller, which are checked at each call. The bases are searched in parallel,
 * each with its own settings; their results follow in turn, best first. Fails with NotFoundError for a base that the
 * caller may not read, and as RetrievalService does when the search of one base fails.
 */
export class KnowledgeRetriever extends BaseRetriever<FragmentReference> {
  override lc_namespace = ['plinth', 'retrievers'];
  /** LangChain does not hand the signal of a call on. */
  private readonly signals = new AsyncLocalStorage<AbortSignal | undefined>();

  static override lc_name(): string {
    return 'KnowledgeRetriever';
  }

  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly retrieval: RetrievalService,
    private readonly scope: RetrieverScope,
    private readonly options: RetrieverOptions = {},
  ) {
    super();
  }

  override invoke(
    query: string,
    options?: Partial<RunnableConfig>,
  ): Promise<Document<FragmentReference>[]> {
    const config = ensureConfig(options);
    return this.signals.run(config.signal, () => super.invoke(query, config));
  }

  override async _getRelevantDocuments(query: string): Promise<Document<FragmentReference>[]> {
    const { caller, knowledgeIds } = this.scope;
    const ids = [...new Set(knowledgeIds)];
    const bases = await Promise.all(ids.map((id) => this.knowledge.readable(caller, id)));
    const results = await this.search(query, bases);
    return [...inTurn(results)].slice(0, this.options.limit).map(toDocument);
  }

  private async search(
    query: string,
    bases: readonly KnowledgeBase[],
  ): Promise<(readonly RetrievedFragment[])[]> {
    const { caller } = this.scope;
    const { overrides = {}, filter } = this.options;
    const failure = new AbortController();
    const given = [this.options.signal, this.signals.getStore(), failure.signal];
    const signal = AbortSignal.any(given.filter((one) => one !== undefined));
    signal.throwIfAborted();
    try {
      const searches = bases.map((knowledge) =>
        this.retrieval.retrieve({ caller, knowledge, query, overrides, filter, signal }),
      );
      return (await Promise.all(searches)).map(({ fragments }) => fragments);
    } finally {
      // After a failure, the other searches are not needed.
      failure.abort();
    }
  }
}

function toDocument(fragment: RetrievedFragment): Document<FragmentReference> {
  const { fid, content } = fragment;
  return new Document({ id: fid, pageContent: content, metadata: fragmentReference(fragment) });
}
