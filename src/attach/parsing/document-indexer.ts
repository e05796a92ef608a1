import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { FragmentService, KeywordIndex, searchableText } from '../../fragment/index.js';
import type { NewFragment } from '../../fragment/index.js';
import {
  FRAGMENT_SETTINGS,
  isOfSession,
  KnowledgeService,
  NoEmbeddingModelError,
} from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedEmbeddingModel } from '../../model/index.js';
import { ContentMissingError, StorageService } from '../../platform/storage/index.js';
import { VectorStores } from '../../vector-store/index.js';
import type { VectorEntry, VectorScope, VectorStore } from '../../vector-store/index.js';
import { DocumentParser } from '../parser/index.js';
import type { ParsedDocument } from '../parser/index.js';
import { TextRecognitions } from '../recognition/index.js';
import { ContextWriter } from './fragment-context.js';
import { FragmentEmbedder } from './fragment-embedder.js';
import { LostVectors } from './lost-vectors.js';
import { PageReader } from './page-reader.js';
import type { DocumentLease } from './document-lease.js';
import { ParsingRepository } from './parsing.repository.js';
import type { ClaimedAttachment } from './parsing.repository.js';
import { VectorHomes } from './vector-homes.js';
import {
  LeaseLostError,
  MissingVectorsError,
  SettingsChangedError,
  SourceElsewhereError,
  SourceGoneError,
} from './parsing.errors.js';

/** One attempt at one document. */
interface Attempt {
  readonly caller: Caller;
  readonly attachment: ClaimedAttachment;
  readonly lease: DocumentLease;
  readonly signal: AbortSignal;
}

/** Content that an attempt has prepared for storing. */
interface PreparedDocument {
  readonly knowledge: KnowledgeBase;
  readonly document: ParsedDocument;
  readonly fragments: readonly NewFragment[];
  /** Vectors of the fragments; undefined for a base with keyword search only. */
  readonly vectors: readonly Float32Array[] | undefined;
}

/**
 * Turns a stored file into a searchable document: parse and split, embed, remove the old vectors, write the new ones,
 * then replace fragments, keyword postings and state in one transaction. The old content stays retrievable until its
 * vectors are removed; an attempt that is interrupted after that is repeated as a whole.
 */
@Injectable()
export class DocumentIndexer {
  private readonly writing = new PQueue({ concurrency: WRITING_AT_ONCE });

  constructor(
    private readonly database: Database,
    private readonly knowledge: KnowledgeService,
    private readonly models: ModelResolver,
    private readonly storage: StorageService,
    private readonly parser: DocumentParser,
    private readonly recognitions: TextRecognitions,
    private readonly pages: PageReader,
    private readonly contexts: ContextWriter,
    private readonly embedder: FragmentEmbedder,
    private readonly keywords: KeywordIndex,
    private readonly fragments: FragmentService,
    private readonly stores: VectorStores,
    private readonly repository: ParsingRepository,
    private readonly lost: LostVectors,
    private readonly homes: VectorHomes,
  ) {}

  /**
   * Resolves when the document is parsed; LeaseLostError when it was taken away meanwhile, SettingsChangedError when it
   * has to be parsed with other settings.
   */
  async run(attempt: Attempt): Promise<void> {
    await this.announced(attempt, async (knowledge, model) => {
      const prepared = await this.prepare(attempt, knowledge, model);
      await enqueue(this.writing, attempt.signal, () => this.write(attempt, prepared));
    });
  }

  /** Other documents of the model wait for this one with their shared call while the work runs. */
  private async announced(
    attempt: Attempt,
    work: (knowledge: KnowledgeBase, model: ResolvedEmbeddingModel | undefined) => Promise<void>,
  ): Promise<void> {
    const knowledge = await this.knowledgeOf(attempt);
    const model = await this.modelOf(attempt.caller, knowledge);
    const leave = model && this.embedder.announce(attempt.caller, model);
    try {
      await work(knowledge, model);
    } finally {
      leave?.();
    }
  }

  private async write(attempt: Attempt, prepared: PreparedDocument): Promise<void> {
    await attempt.lease.check();
    const store = this.stores.of(prepared.knowledge);
    try {
      if (prepared.vectors) await this.writeVectors(attempt, prepared, prepared.vectors, store);
      await this.commit(attempt, prepared);
    } catch (error) {
      const { tenantId } = attempt.caller;
      const { knowledgeId } = attempt.attachment;
      const ids = prepared.fragments.map(({ id }) => id);
      await this.withdraw({ tenantId, knowledgeId }, ids, store);
      throw error;
    }
  }

  /**
   * Makes the vectors of the stored fragments again, because they were lost; reads no file and changes no fragment. Adds
   * and replaces, so that what is there stays searchable. Rejects as `run` does.
   */
  restoreVectors(attempt: Attempt): Promise<void> {
    return this.announced(attempt, (knowledge, model) => this.restore(attempt, knowledge, model));
  }

  private async restore(
    attempt: Attempt,
    knowledge: KnowledgeBase,
    model: ResolvedEmbeddingModel | undefined,
  ): Promise<void> {
    const { caller, attachment, lease, signal } = attempt;
    const { tenantId } = caller;
    const { knowledgeId } = attachment;
    const { claim } = lease;
    const stored = model ? await this.fragments.searchableTexts(tenantId, claim.id) : [];
    const texts = stored.map(({ text }) => text);
    const vectors = (await this.vectorsOf(attempt, model, texts)) ?? [];
    await lease.check();
    const entries = stored.flatMap(({ id: fragmentId }, at): VectorEntry[] => {
      const vector = vectors[at];
      return vector ? [{ fragmentId, attachmentId: claim.id, vector }] : [];
    });
    const scope = { tenantId, knowledgeId };
    const store = this.stores.of(knowledge);
    try {
      await store.upsert(scope, entries, signal);
      const storedCount = await store.count(scope, claim.id, signal);
      if (storedCount < entries.length) throw new MissingVectorsError(entries.length, storedCount);
      await this.database.transaction(async () => {
        const present = await this.knowledge.unchanging(tenantId, knowledgeId);
        if (!present) throw new LeaseLostError();
        if (!this.fragments.areVectorsShared(knowledge, present)) throw new SettingsChangedError();
        if (!(await this.repository.finishVectors(claim))) throw new LeaseLostError();
        await this.repository.dropKept(tenantId, claim.id);
        await this.database.afterCommit(() => this.lost.clear(scope));
      });
    } catch (error) {
      // Another worker may have written the same vectors by now, so they stay where they can still be used.
      if (!(await this.isUsable(attempt, knowledge))) {
        const ids = stored.map(({ id }) => id);
        await this.withdraw(scope, ids, store);
      }
      throw error;
    }
  }

  private async prepare(
    attempt: Attempt,
    knowledge: KnowledgeBase,
    model: ResolvedEmbeddingModel | undefined,
  ): Promise<PreparedDocument> {
    const document = await this.parse(attempt, knowledge);
    const contexts = await this.contextsOf(attempt, knowledge, document);
    const drafts = document.fragments.map((draft, idx) => ({
      ...draft,
      context: contexts?.[idx] ?? null,
    }));
    const texts = drafts.map(searchableText);
    const vectors = await this.vectorsOf(attempt, model, texts);
    const ids = await this.fragments.reserveIds(texts.length);
    const { tenantId, id: knowledgeId, language } = knowledge;
    const analysed = await this.keywords.analyse(texts, { tenantId, knowledgeId, language });
    const fragments = drafts.flatMap((draft, idx): NewFragment[] => {
      const [id, terms] = [ids[idx], analysed[idx]];
      return id === undefined || terms === undefined
        ? []
        : [{ ...draft, id, idx, analysed: terms }];
    });
    return { knowledge, document, fragments, vectors };
  }

  /** Context lines of the fragments; undefined for a base without a context model. */
  private async contextsOf(
    { caller, attachment: { name }, lease, signal }: Attempt,
    { contextModel }: KnowledgeBase,
    document: ParsedDocument,
  ): Promise<readonly string[] | undefined> {
    if (!contextModel) return undefined;
    lease.report({ total: document.fragments.length });
    const model = await this.models.resolveChatOf(caller, contextModel);
    return this.contexts.write(lease, model, { caller, source: { ...document, name }, signal });
  }

  private async knowledgeOf({ caller, attachment, signal }: Attempt): Promise<KnowledgeBase> {
    const [knowledge] = await this.knowledge.ofTenant(caller.tenantId, [attachment.knowledgeId]);
    if (!knowledge) throw new LeaseLostError();
    return this.homes.claim(knowledge, signal);
  }

  /** One vector for each text, in order; undefined without a model. */
  private async vectorsOf(
    { caller, lease, signal }: Attempt,
    model: ResolvedEmbeddingModel | undefined,
    texts: readonly string[],
  ): Promise<Float32Array[] | undefined> {
    lease.report({ done: 0, total: texts.length });
    await lease.check();
    if (!model) return undefined;
    return this.embedder.embed(
      lease.claim,
      { caller, model, texts },
      {
        signal,
        onProgress: (done) => lease.report({ done }),
        onWait: (reason) => {
          lease.report({ waitingFor: reason ?? null });
        },
      },
    );
  }

  /** The embedding model; undefined for the base of a chat session in a tenant that had none. */
  private async modelOf(
    caller: Caller,
    knowledge: KnowledgeBase,
  ): Promise<ResolvedEmbeddingModel | undefined> {
    const { embeddingModel, name } = knowledge;
    if (embeddingModel !== '') return this.models.resolveEmbeddingOf(caller, embeddingModel);
    if (!isOfSession(knowledge)) throw new NoEmbeddingModelError(name);
    return undefined;
  }

  private async parse(
    { caller, attachment, lease, signal }: Attempt,
    knowledge: KnowledgeBase,
  ): Promise<ParsedDocument> {
    const { ossId, name, byteSize } = attachment;
    if (ossId === null) throw new SourceGoneError();
    const recognition = await this.recognitions.of(caller, knowledge);
    const pages = recognition && this.pages.recognitionOf(lease, recognition, signal);
    const { textBlockSize, overlapChar, separator } = knowledge;
    try {
      const { content } = await this.storage.open(caller.tenantId, ossId);
      const settings = { textBlockSize, overlapChar, separator: separator ?? '' };
      return await this.parser.parse({ content, name, byteSize }, settings, signal, pages);
    } catch (error) {
      if (error instanceof ContentMissingError) throw new SourceElsewhereError(error);
      throw error instanceof NotFoundError ? new SourceGoneError() : error;
    }
  }

  private async writeVectors(
    { caller: { tenantId }, attachment: { knowledgeId }, lease, signal }: Attempt,
    { fragments }: PreparedDocument,
    vectors: readonly Float32Array[],
    store: VectorStore,
  ): Promise<void> {
    const scope = { tenantId, knowledgeId };
    const attachmentId = lease.claim.id;
    const entries = fragments.flatMap(({ id: fragmentId, idx }): VectorEntry[] => {
      const vector = vectors[idx];
      return vector ? [{ fragmentId, attachmentId, vector }] : [];
    });
    await store.removeAttachment(scope, attachmentId, signal);
    await store.upsert(scope, entries, signal);
    const stored = await store.count(scope, attachmentId, signal);
    if (stored !== fragments.length) throw new MissingVectorsError(fragments.length, stored);
  }

  private async commit(
    { caller: { tenantId }, attachment: { knowledgeId, docId }, lease }: Attempt,
    { knowledge, document, fragments }: PreparedDocument,
  ): Promise<void> {
    const { claim } = lease;
    await this.database.longTransaction(async () => {
      // The base is locked before the document, the order in which changes of a base lock.
      const present = await this.knowledge.unchanging(tenantId, knowledgeId);
      if (!present) throw new LeaseLostError();
      if (!this.makesSame(knowledge, present)) throw new SettingsChangedError();
      const { encoding } = document;
      const isLeased = await this.repository.finish(claim, {
        fragments: fragments.length,
        encoding,
      });
      if (!isLeased) throw new LeaseLostError();
      await this.fragments.replaceAll(
        { tenantId, knowledgeId, attachmentId: claim.id, docId },
        fragments,
      );
      await this.repository.dropKept(tenantId, claim.id);
      if (present.vectorsLostAt) {
        await this.database.afterCommit(() => this.lost.clear({ tenantId, knowledgeId }));
      }
    });
  }

  /** Whether both records produce the same fragments, and the same vectors in the same store. */
  private makesSame(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      // Older rows have an empty text where a cleared setting is null now.
      FRAGMENT_SETTINGS.every((setting) => (one[setting] ?? '') === (other[setting] ?? '')) &&
      this.fragments.areVectorsShared(one, other)
    );
  }

  /** Whether the document still exists and the settings of its vectors are those at the start of the attempt. */
  private async isUsable(
    { caller: { tenantId }, lease: { claim } }: Attempt,
    knowledge: KnowledgeBase,
  ): Promise<boolean> {
    const [present] = await this.knowledge.ofTenant(tenantId, [knowledge.id]);
    if (!present || !this.fragments.areVectorsShared(knowledge, present)) return false;
    return this.repository.exists(claim);
  }

  /** Takes back the vectors of this attempt alone: the document may already be another worker's, or gone. */
  private async withdraw(
    scope: VectorScope,
    ids: readonly number[],
    store: VectorStore,
  ): Promise<void> {
    // The withdrawal has a time limit of its own, because that of the attempt may have run out. Reconciliation removes
    // what it leaves.
    const signal = AbortSignal.timeout(WITHDRAWAL_MS);
    await store.removeFragments(scope, ids, signal).catch(() => undefined);
  }
}

/** Runs the work when the queue has a place, in the context of the caller: the tenant that it is bound to. */
function enqueue(queue: PQueue, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const inContext = AsyncLocalStorage.snapshot();
  return queue.add(() =>
    inContext(async () => {
      signal.throwIfAborted();
      await work();
    }),
  );
}

const WITHDRAWAL_MS = 10_000;

/** Each of them holds a connection of the pool. */
const WRITING_AT_ONCE = 4;
