import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { HealthService } from '../platform/observability/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { FragmentVector, VectorRevision } from './exact/fragment-vector.entity.js';
import {
  ExactRepository,
  PgvectorRepository,
  QdrantPointsRepository,
} from './vector.repository.js';
import { ExactVectorStore } from './exact/exact.vector-store.js';
import { PgvectorVectorStore } from './relational.vector-store.js';
import { QdrantFactory } from './qdrant/qdrant.vector-store.js';
import { VectorErasure, VectorStores } from './vector-store.js';

/** Chooses the stores at the start: Qdrant where it is configured, pgvector where it is installed, exact always. */
@Module({
  imports: [StorageModule, TypeOrmModule.forFeature([FragmentVector, VectorRevision])],
  providers: [
    ExactRepository,
    ExactVectorStore,
    PgvectorRepository,
    PgvectorVectorStore,
    QdrantFactory,
    QdrantPointsRepository,
    {
      provide: VectorStores,
      inject: [CONFIG, PgvectorVectorStore, ExactVectorStore, QdrantFactory],
      useFactory: async (
        config: Config,
        pgvector: PgvectorVectorStore,
        exact: ExactVectorStore,
        qdrantFactory: QdrantFactory,
      ): Promise<VectorStores> => {
        const relational = (await pgvector.prepare())
          ? ([pgvector, exact] as const)
          : ([exact] as const);
        const qdrant = await qdrantFactory.open(config);
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
