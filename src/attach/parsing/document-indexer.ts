import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { FragmentService, KeywordIndex, searchableText } from '../../fragment/index.js';
import type { NewFragment } from '../../fragment/index.js';
import { isOfSession, KnowledgeService, NoEmbeddingModelError } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedEmbeddingModel } from '../../model/index.js';
import { ContentMissingError, StorageService } from '../../platform/storage/index.js';
import { VectorStores } from '../../vector-store/index.js';
import type { VectorEntry, VectorStore } from '../../vector-store/index.js';
import { DocumentParser } from '../parser/index.js';
import type { ParsedDocument } from '../parser/index.js';
import { TextRecognitions } from '../recognition/index.js';
import { ContextWriter } from './context-writer.js';
import { FragmentEmbedder } from './fragment-embedder.js';
import { PageReader } from './page-reader.js';
import type { DocumentLease } from './document-lease.js';
import { ParsingRepository } from './parsing.repository.js';
import type { ClaimedAttachment } from './parsing.repository.js';
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

/** What the attempt has made and is about to store. */
interface PreparedDocument {
  readonly knowledge: KnowledgeBase;
  readonly document: ParsedDocument;
  readonly fragments: readonly NewFragment[];
  /** Undefined for a base that is searched by words alone. */
  readonly vectors: readonly Float32Array[] | undefined;
}

/**
 * From the stored file to a document that is found: parse and split, embed, remove the old vectors, write the new ones,
 * then replace fragments, keyword postings and state in one transaction. Until the removal the old content stays
 * retrievable; what is interrupted after it is repeated as a whole.
 */
@Injectable()
export class DocumentIndexer {
  private readonly large = new PQueue({ concurrency: LARGE_AT_ONCE });
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
  ) {}

  /**
   * Resolves when the document is parsed; LeaseLostError when it was taken away meanwhile, SettingsChangedError when it
   * has to be parsed with other settings.
   */
  async run(attempt: Attempt): Promise<void> {
    const { attachment, lease, signal } = attempt;
    if (attachment.byteSize <= SMALL_BYTES) return this.ingest(attempt);
    lease.report({ waitingFor: LARGE_BEFORE });
    await inTurn(this.large, signal, () => {
      lease.report({ waitingFor: null });
      return this.ingest(attempt);
    });
  }

  private async ingest(attempt: Attempt): Promise<void> {
    const { caller, attachment, signal } = attempt;
    const [knowledge] = await this.knowledge.ofTenant(caller.tenantId, [attachment.knowledgeId]);
    if (!knowledge) throw new LeaseLostError();
    const model = await this.modelOf(caller, knowledge);
    const leave = model && this.embedder.announce(model);
    try {
      const prepared = await this.prepare(attempt, knowledge, model);
      await inTurn(this.writing, signal, () => this.write(attempt, prepared));
    } finally {
      leave?.();
    }
  }

  private async write(attempt: Attempt, prepared: PreparedDocument): Promise<void> {
    await attempt.lease.check();
    const store = this.stores.of(prepared.knowledge.vectorModel);
    try {
      if (prepared.vectors) await this.writeVectors(attempt, prepared, prepared.vectors, store);
      await this.commit(attempt, prepared);
    } catch (error) {
      await this.withdraw(attempt, prepared, store);
      throw error;
    }
  }

  private async prepare(
    attempt: Attempt,
    knowledge: KnowledgeBase,
    model: ResolvedEmbeddingModel | undefined,
  ): Promise<PreparedDocument> {
    const { lease, signal } = attempt;
    const document = await this.parse(attempt, knowledge);
    lease.report({ done: 0, total: document.fragments.length });
    await lease.check();
    const contexts = await this.contextsOf(attempt, knowledge, document);
    const drafts = document.fragments.map((draft, idx) => ({
      ...draft,
      context: contexts?.[idx] ?? null,
    }));
    const texts = drafts.map(searchableText);
    const vectors =
      model &&
      (await this.embedder.embed(
        lease.claim,
        { model, texts },
        {
          signal,
          onProgress: (done) => lease.report({ done }),
          onWait: (reason) => {
            lease.report({ waitingFor: reason ?? null });
          },
        },
      ));
    const ids = await this.fragments.reserveIds(texts.length);
    const analysed = await this.keywords.analyse(texts);
    const fragments = drafts.flatMap((draft, idx): NewFragment[] => {
      const [id, terms] = [ids[idx], analysed[idx]];
      return id === undefined || terms === undefined
        ? []
        : [{ ...draft, id, idx, analysed: terms }];
    });
    return { knowledge, document, fragments, vectors };
  }

  /** Undefined for a base without a model that writes context. */
  private async contextsOf(
    { caller, attachment: { name }, lease, signal }: Attempt,
    { contextModel }: KnowledgeBase,
    document: ParsedDocument,
  ): Promise<readonly string[] | undefined> {
    if (!contextModel) return undefined;
    const model = await this.models.resolveChat(caller, contextModel);
    return this.contexts.write(lease, model, { source: { ...document, name }, signal });
  }

  /** Undefined for the base of a chat session in a tenant that had no embedding model. */
  private async modelOf(
    caller: Caller,
    knowledge: KnowledgeBase,
  ): Promise<ResolvedEmbeddingModel | undefined> {
    const { embeddingModel, name } = knowledge;
    if (embeddingModel !== '') return this.models.resolveEmbedding(caller, embeddingModel);
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
      // Before the document, as a change of the base takes them.
      const present = await this.knowledge.unchanging(tenantId, knowledgeId);
      if (!present) throw new LeaseLostError();
      if (!this.isMadeBy(knowledge, present)) throw new SettingsChangedError();
      const { encoding } = document;
      const held = await this.repository.finish(claim, { fragments: fragments.length, encoding });
      if (!held) throw new LeaseLostError();
      await this.fragments.replaceAll(
        { tenantId, knowledgeId, attachmentId: claim.id, docId },
        fragments,
      );
      await this.repository.dropKept(tenantId, claim.id);
    });
  }

  /** Whether what was made by the one record's settings is what the other's would make, in the same place. */
  private isMadeBy(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      SPLIT_BY.every((setting) => one[setting] === other[setting]) &&
      this.fragments.areVectorsShared(one, other)
    );
  }

  /** Takes back the vectors of this attempt alone: the document may already be another worker's, or gone. */
  private async withdraw(
    { caller: { tenantId }, attachment: { knowledgeId } }: Attempt,
    { fragments }: PreparedDocument,
    store: VectorStore,
  ): Promise<void> {
    const ids = fragments.map(({ id }) => id);
    // Its own time, because the attempt's may be what has just ended. What fails here the reconciliation removes.
    const signal = AbortSignal.timeout(WITHDRAWAL_MS);
    await store.removeFragments({ tenantId, knowledgeId }, ids, signal).catch(() => undefined);
  }
}

/** Runs the work when the queue has a place, in the context of the caller: the tenant that it is bound to. */
function inTurn(queue: PQueue, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const inContext = AsyncLocalStorage.snapshot();
  return queue.add(() =>
    inContext(async () => {
      signal.throwIfAborted();
      await work();
    }),
  );
}

const WITHDRAWAL_MS = 10_000;

/** A file up to this size is small: many of them are ingested at the same time, because they wait for a shared call. */
const SMALL_BYTES = 256 * 1_024;
/** Their fragments and vectors are in memory. */
const LARGE_AT_ONCE = 4;
const LARGE_BEFORE = 'Other large documents are parsed first.';

/** Each of them holds a connection of the pool. */
const WRITING_AT_ONCE = 4;

/** What the fragments of a document depend on. */
const SPLIT_BY = [
  'textBlockSize',
  'overlapChar',
  'separator',
  'enableOcr',
  'ocrModel',
  'contextModel',
] as const;
