import { Module } from '@nestjs/common';
import { KnowledgeModule } from '../knowledge/index.js';
import { VectorStoreModule } from '../vector-store/index.js';

@Module({ imports: [KnowledgeModule, VectorStoreModule] })
export class FragmentModule {}
