import { Module } from '@nestjs/common';
import { FragmentModule } from '../fragment/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { StorageModule } from '../storage/index.js';

@Module({ imports: [KnowledgeModule, FragmentModule, StorageModule] })
export class AttachModule {}
