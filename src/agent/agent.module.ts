import { Module } from '@nestjs/common';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';

@Module({ imports: [KnowledgeModule, ModelModule] })
export class AgentModule {}
