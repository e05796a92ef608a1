import { UnavailableError, InvalidInputError } from '../platform/error/index.js';
import { msg, phrase } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { VectorStore } from './vector-store.js';
import { Injectable, Logger } from '@nestjs/common';
import { TenantLifecycle } from '../platform/access/index.js';
import { Database } from '../platform/database/index.js';

/** The vectors of a knowledge base are in a store that this installation does not run any more. */
export class AbsentStoreError extends UnavailableError {
  constructor(code: string) {
    super(
      phrase`The vector store`,
      undefined,
      msg`The vectors of this knowledge base are in the vector store ${code}, which this installation does not run. Ask an administrator to set it up again, or save the base with reindex: true.`,
    );
  }
}

/** Placeholder for a store that holds vectors and does not run here: every call rejects with AbsentStoreError. */
export class AbsentVectorStore extends VectorStore {
  constructor(override readonly code: string) {
    super();
  }

  override readonly upsert = () => this.refuse();
  override readonly search = () => this.refuse();
  override readonly removeFragments = () => this.refuse();
  override readonly removeAttachment = () => this.refuse();
  override readonly removeKnowledge = () => this.refuse();
  override readonly removeTenant = () => this.refuse();
  override readonly count = () => this.refuse();
  override readonly scopes = () => this.refuse();
  override readonly fragmentIds = () => this.refuse();

  private refuse(): Promise<never> {
    return Promise.reject(new AbsentStoreError(this.code));
  }
}

/** Accepted values of vectorModel: the stores that exist, and those that existing clients send (docs/WIRE.md). */
const KNOWN_CODES = ['weaviate', 'milvus', 'qdrant', 'pgvector', 'exact'];

/** Value that the form of existing consoles selects by default; it does not express a choice of the user. */
const CONSOLE_DEFAULT = 'weaviate';

/** Store properties of a knowledge base. */
export interface StoreOfBase {
  /** Store code as entered. */
  readonly vectorModel: string;
  /** Code of the store that holds its vectors; null before the first ones. */
  readonly vectorStore: string | null;
}

/** The vector stores that run in this installation. */
export class VectorStores {
  /** The first one is the default. */
  constructor(private readonly stores: readonly [VectorStore, ...VectorStore[]]) {}

  /**
   * The store that holds the vectors of the base, also after QDRANT_URL was set or removed; where it does not run here, each
   * call rejects with UnavailableError. Before the first vectors: the one that will hold them.
   */
  of({ vectorModel, vectorStore }: StoreOfBase): VectorStore {
    if (vectorStore === null) return this.configured(vectorModel);
    return this.running(vectorStore) ?? new AbsentVectorStore(vectorStore);
  }

  /** The store for new vectors of a base with this vectorModel: the one of that code if it runs here, else the default. */
  configured(vectorModel: string): VectorStore {
    return this.running(vectorModel) ?? this.default();
  }

  default(): VectorStore {
    return this.stores[0];
  }

  all(): readonly VectorStore[] {
    return this.stores;
  }

  /**
   * Checks the vectorModel of a knowledge base before it is saved. Returns a notice for the answer's `msg` when the
   * default store is used instead of one that was chosen. InvalidInputError for an unknown value.
   */
  check(vectorModel: string): { notice?: Message } {
    const requestedCode = codeOf(vectorModel);
    if (this.running(requestedCode) || requestedCode === CONSOLE_DEFAULT) return {};
    const { code } = this.default();
    if (requestedCode === '')
      return { notice: msg`No vector store was chosen: ${code} serves it.` };
    if (KNOWN_CODES.includes(requestedCode)) {
      return { notice: msg`This installation does not run ${requestedCode}: ${code} serves it.` };
    }
    throw new InvalidInputError(
      msg`vectorModel must be one of ${KNOWN_CODES.join(', ')}, or empty.`,
    );
  }

  /** The store of this code; undefined when it does not run here. */
  withCode(code: string): VectorStore | undefined {
    return this.running(code);
  }

  private running(vectorModel: string): VectorStore | undefined {
    return this.stores.find(({ code }) => code === codeOf(vectorModel));
  }
}

function codeOf(vectorModel: string): string {
  return vectorModel.trim().toLowerCase();
}

/** Time limit for the deletion of a tenant from one store. */
const LIMIT_MS = 60_000;

/** Removes the vectors of a deleted tenant, also from stores without foreign keys. */
@Injectable()
export class VectorErasure {
  private readonly logger = new Logger(VectorErasure.name);

  constructor(
    private readonly stores: VectorStores,
    private readonly database: Database,
    lifecycle: TenantLifecycle,
  ) {
    lifecycle.join({
      deleting: (tenantId) => this.database.afterCommit(() => this.erase(tenantId)),
    });
  }

  private async erase(tenantId: string): Promise<void> {
    for (const store of this.stores.all()) {
      await store
        .removeTenant(tenantId, AbortSignal.timeout(LIMIT_MS))
        .catch((error: unknown) => this.logFailure(store.code, tenantId, error));
    }
  }

  private logFailure(store: string, tenantId: string, error: unknown): void {
    this.logger.error({
      msg: 'Failed to remove the vectors of a deleted tenant; the next reconciliation retries',
      store,
      tenantId,
      err: error,
    });
  }
}
