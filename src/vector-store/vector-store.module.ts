import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Dependencies } from '../platform/dependency/index.js';
import { HealthService } from '../platform/observability/index.js';
import { FragmentVector, VectorRevision } from './exact/fragment-vector.entity.js';
import { ExactRepository } from './exact/exact.repository.js';
import { ExactVectorStore } from './exact/exact.vector-store.js';
import { PgvectorRepository } from './pgvector/pgvector.repository.js';
import { PgvectorVectorStore } from './pgvector/pgvector.vector-store.js';
import { QdrantVectorStore } from './qdrant/qdrant.vector-store.js';
import { VectorErasure, VectorStores } from './vector-stores.js';

/** Chooses the stores at the start: Qdrant where it is configured, pgvector where it is installed, exact always. */
@Module({
  imports: [TypeOrmModule.forFeature([FragmentVector, VectorRevision])],
  providers: [
    ExactRepository,
    ExactVectorStore,
    PgvectorRepository,
    PgvectorVectorStore,
    {
      provide: VectorStores,
      inject: [CONFIG, Dependencies, PgvectorVectorStore, ExactVectorStore],
      useFactory: async (
        config: Config,
        dependencies: Dependencies,
        pgvector: PgvectorVectorStore,
        exact: ExactVectorStore,
      ): Promise<VectorStores> => {
        const relational = (await pgvector.prepare())
          ? ([pgvector, exact] as const)
          : ([exact] as const);
        const qdrant = qdrantOf(config, dependencies);
        return new VectorStores(qdrant ? [qdrant, ...relational] : [...relational]);
      },
    },
    VectorErasure,
  ],
  exports: [VectorStores],
})
export class VectorStoreModule {
  constructor(stores: VectorStores, health: HealthService) {
    health.setVectorStore(stores.default().code);
  }
}

function qdrantOf(config: Config, dependencies: Dependencies): QdrantVectorStore | undefined {
  if (config.QDRANT_URL === undefined) return undefined;
  const settings = {
    url: config.QDRANT_URL,
    apiKey: config.QDRANT_API_KEY,
    prefix: config.QDRANT_PREFIX,
    timeoutMs: config.QDRANT_TIMEOUT_SECONDS * 1_000,
  };
  return new QdrantVectorStore(settings, dependencies.of('vectorStore'));
}
