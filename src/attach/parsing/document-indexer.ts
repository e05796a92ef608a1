import { createHash } from 'node:crypto';
import { Injectable, Inject } from '@nestjs/common';
import PQueue from 'p-queue';
import { Lease } from '../../platform/lease/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { FragmentService, KeywordIndex, searchableText } from '../../fragment/index.js';
import type { NewFragment } from '../../fragment/index.js';
import { isOfSession, KnowledgeService, NoEmbeddingModelError } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import {
  EmbeddingClient,
  EmbeddingModelChangedError,
  inBatches,
  ModelResolver,
} from '../../model/index.js';
import type { ResolvedEmbeddingModel } from '../../model/index.js';
import { ContentMissingError, StorageService } from '../../platform/storage/index.js';
import { VectorStores } from '../../vector-store/index.js';
import type { VectorEntry, VectorScope, VectorStore } from '../../vector-store/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { DocumentParser } from '../parser/index.js';
import type { ParsedDocument } from '../parser/index.js';
import { LostVectors } from './lost-vectors.js';
import { LEASE_SECONDS, ParsingRepository } from './parsing.repository.js';
import type { Claim, Progress, ClaimedAttachment } from './parsing.repository.js';
import {
  LeaseLostError,
  MissingVectorsError,
  SettingsChangedError,
  SourceElsewhereError,
  SourceGoneError,
} from './parsing.errors.js';

const TIMES = { renewMs: (LEASE_SECONDS * 1_000) / 3 };

/** Renews the lease of the claim and stores the progress; answers why the work must end, undefined when it may continue. */
type RenewClaim = (claim: Claim, progress: Progress) => Promise<Error | undefined>;

/** The right to write the parsing of one document. Its signal aborts with LeaseLostError when another has the right. */
export class DocumentLease {
  private readonly lease: Lease;
  private progress: Progress = { done: 0, total: null, waitingFor: null };

  constructor(
    readonly claim: Claim,
    renew: RenewClaim,
  ) {
    this.lease = new Lease(() => renew(claim, this.progress), TIMES);
  }

  get signal(): AbortSignal {
    return this.lease.signal;
  }

  /** Stored with the next renewal. */
  report(progress: Partial<Progress>): void {
    this.progress = { ...this.progress, ...progress };
  }

  /** Renews now; throws the reason why the work must end. Call it before anything that cannot be taken back. */
  async check(): Promise<void> {
    await this.lease.renewNow();
    this.signal.throwIfAborted();
  }

  async end(): Promise<void> {
    await this.lease.end();
  }
}

/** Receives the progress of the embedding of one document. */
interface EmbeddingWatch {
  /** How many texts have their vector. */
  readonly onProgress: (done: number) => void;
  /** The reason for waiting; undefined when it continues. */
  readonly onWait: (reason: string | undefined) => void;
}

interface Batch {
  readonly texts: readonly string[];
  readonly digest: string;
}

const FLOAT_BYTES = 4;

/** Embeds the fragments of a document batch by batch, and keeps each batch until the document is parsed. */
@Injectable()
export class FragmentEmbedder {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly embedder: EmbeddingClient,
    private readonly repository: ParsingRepository,
  ) {}

  /**
   * One vector a text, in their order. A batch that an earlier attempt has embedded is not sent again; after the first
   * batch that fails for good no other is begun.
   */
  async embed(
    claim: Claim,
    what: { readonly model: ResolvedEmbeddingModel; readonly texts: readonly string[] },
    how: EmbeddingWatch & { readonly signal: AbortSignal },
  ): Promise<Float32Array[]> {
    const { model, texts } = what;
    const batches = batchesOf(model, texts, this.embedder.batchSizeOf(model));
    const kept = await this.repository.embeddedBatches(claim.tenantId, claim.id);
    const failure = new AbortController();
    const signal = AbortSignal.any([how.signal, failure.signal]);
    let done = 0;
    const queue = new PQueue({ concurrency: this.config.EMBEDDING_CONCURRENCY });
    const embedOne = async ({ texts: inputs, digest }: Batch): Promise<Float32Array[]> => {
      signal.throwIfAborted();
      const earlier = kept.get(digest);
      const vectors = earlier
        ? unpacked(earlier, inputs.length)
        : await this.embedder.embed(model, inputs, {
            signal,
            purpose: 'document',
            onWait: how.onWait,
          });
      // A document of one batch has nothing to resume.
      if (!earlier && batches.length > 1) {
        await this.repository.keepBatch(claim, { digest, vectors: packed(vectors) });
      }
      done += inputs.length;
      how.onProgress(done);
      return vectors;
    };
    try {
      return (await Promise.all(batches.map((batch) => queue.add(() => embedOne(batch))))).flat();
    } catch (error) {
      queue.clear();
      failure.abort(error);
      await queue.onIdle();
      throw error instanceof EmbeddingModelChangedError ? new SettingsChangedError() : error;
    }
  }
}

function batchesOf(model: ResolvedEmbeddingModel, texts: readonly string[], size: number): Batch[] {
  return inBatches(texts, size).map((batch) => ({ texts: batch, digest: digestOf(model, batch) }));
}

/** Equal only for the same texts embedded by the same model at the same address. */
function digestOf(model: ResolvedEmbeddingModel, texts: readonly string[]): string {
  const { id, modelName, providerCode, modelDimension, connection } = model;
  const facts = [id, modelName, providerCode, modelDimension ?? '', connection.address];
  return createHash('sha256')
    .update(JSON.stringify([facts, texts]))
    .digest('hex');
}

function packed(vectors: readonly Float32Array[]): Buffer {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );
}

function unpacked(bytes: Buffer, count: number): Float32Array[] {
  // A copy, because a view of floats must begin at a multiple of four.
  const floats = new Float32Array(new Uint8Array(bytes).buffer);
  const dimension = bytes.length / FLOAT_BYTES / count;
  return Array.from({ length: count }, (_, index) =>
    floats.slice(index * dimension, (index + 1) * dimension),
  );
}

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
  constructor(
    private readonly database: Database,
    private readonly knowledge: KnowledgeService,
    private readonly models: ModelResolver,
    private readonly storage: StorageService,
    private readonly parser: DocumentParser,
    private readonly embedder: FragmentEmbedder,
    private readonly keywords: KeywordIndex,
    private readonly fragments: FragmentService,
    private readonly stores: VectorStores,
    private readonly repository: ParsingRepository,
    private readonly lost: LostVectors,
  ) {}

  /**
   * Resolves when the document is parsed; LeaseLostError when it was taken away meanwhile, SettingsChangedError when it
   * has to be parsed with other settings.
   */
  async run(attempt: Attempt): Promise<void> {
    const prepared = await this.prepare(attempt);
    await attempt.lease.check();
    const store = this.stores.of(prepared.knowledge.vectorModel);
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
  async restoreVectors(attempt: Attempt): Promise<void> {
    const { caller, attachment, lease, signal } = attempt;
    const { tenantId } = caller;
    const { knowledgeId } = attachment;
    const { claim } = lease;
    const knowledge = await this.knowledgeOf(attempt);
    const model = await this.modelOf(caller, knowledge);
    const stored = model ? await this.fragments.searchableTexts(tenantId, claim.id) : [];
    const texts = stored.map(({ text }) => text);
    const vectors = (await this.vectorsOf(attempt, model, texts)) ?? [];
    await lease.check();
    const entries = stored.flatMap(({ id: fragmentId }, at): VectorEntry[] => {
      const vector = vectors[at];
      return vector ? [{ fragmentId, attachmentId: claim.id, vector }] : [];
    });
    const scope = { tenantId, knowledgeId };
    const store = this.stores.of(knowledge.vectorModel);
    try {
      await store.upsert(scope, entries, signal);
      const found = await store.count(scope, claim.id, signal);
      if (found < entries.length) throw new MissingVectorsError(entries.length, found);
      await this.database.transaction(async () => {
        const present = await this.knowledge.unchanging(tenantId, knowledgeId);
        if (!present) throw new LeaseLostError();
        if (!this.fragments.areVectorsShared(knowledge, present)) throw new SettingsChangedError();
        if (!(await this.repository.finishVectors(claim))) throw new LeaseLostError();
        await this.repository.dropBatches(tenantId, claim.id);
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

  private async prepare(attempt: Attempt): Promise<PreparedDocument> {
    const knowledge = await this.knowledgeOf(attempt);
    const model = await this.modelOf(attempt.caller, knowledge);
    const document = await this.parse(attempt, knowledge);
    const texts = document.fragments.map(searchableText);
    const vectors = await this.vectorsOf(attempt, model, texts);
    const ids = await this.fragments.reserveIds(texts.length);
    const { tenantId, id: knowledgeId, language } = knowledge;
    const analysed = await this.keywords.analyse(texts, { tenantId, knowledgeId, language });
    const fragments = document.fragments.flatMap((draft, idx): NewFragment[] => {
      const [id, terms] = [ids[idx], analysed[idx]];
      return id === undefined || terms === undefined
        ? []
        : [{ ...draft, id, idx, analysed: terms }];
    });
    return { knowledge, document, fragments, vectors };
  }

  private async knowledgeOf({ caller, attachment }: Attempt): Promise<KnowledgeBase> {
    const [knowledge] = await this.knowledge.ofTenant(caller.tenantId, [attachment.knowledgeId]);
    if (!knowledge) throw new LeaseLostError();
    return knowledge;
  }

  /** One vector a text, in their order; undefined without a model. */
  private async vectorsOf(
    { lease, signal }: Attempt,
    model: ResolvedEmbeddingModel | undefined,
    texts: readonly string[],
  ): Promise<Float32Array[] | undefined> {
    lease.report({ done: 0, total: texts.length });
    await lease.check();
    if (!model) return undefined;
    return this.embedder.embed(
      lease.claim,
      { model, texts },
      {
        signal,
        onProgress: (done) => lease.report({ done }),
        onWait: (reason) => {
          lease.report({ waitingFor: reason ?? null });
        },
      },
    );
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
    { caller, attachment, signal }: Attempt,
    knowledge: KnowledgeBase,
  ): Promise<ParsedDocument> {
    const { ossId, name, byteSize } = attachment;
    if (ossId === null) throw new SourceGoneError();
    const { textBlockSize, overlapChar, separator } = knowledge;
    try {
      const { content } = await this.storage.open(caller.tenantId, ossId);
      const settings = { textBlockSize, overlapChar, separator: separator ?? '' };
      return await this.parser.parse({ content, name, byteSize }, settings, signal);
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
      await this.repository.dropBatches(tenantId, claim.id);
      if (present.vectorsLostAt) {
        await this.database.afterCommit(() => this.lost.clear({ tenantId, knowledgeId }));
      }
    });
  }

  /** Whether what was made by the one record's settings is what the other's would make, in the same place. */
  private isMadeBy(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      MADE_BY.every((setting) => one[setting] === other[setting]) &&
      this.fragments.areVectorsShared(one, other)
    );
  }

  /** Whether the document is still there and its vectors are made and stored as when the attempt began. */
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
    // Its own time, because the attempt's may be what has just ended. What fails here the reconciliation removes.
    const signal = AbortSignal.timeout(WITHDRAWAL_MS);
    await store.removeFragments(scope, ids, signal).catch(() => undefined);
  }
}

const WITHDRAWAL_MS = 10_000;

/** What the fragments of a document and their terms depend on. */
const MADE_BY = ['textBlockSize', 'overlapChar', 'separator', 'language'] as const;
