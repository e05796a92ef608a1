import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { SkillModule } from '../skill/index.js';
import { Agent } from './agent.entity.js';
import { AgentController, McpToolController, WorkflowController } from './agent.controller.js';
import { AgentRepository } from './agent.repository.js';
import { AgentService } from './agent.service.js';
import { ResponseFormats } from './format/response-formats.js';

@Module({
  imports: [TypeOrmModule.forFeature([Agent]), KnowledgeModule, ModelModule, SkillModule],
  controllers: [AgentController, McpToolController, WorkflowController],
  providers: [AgentRepository, AgentService, ResponseFormats],
  exports: [AgentService, ResponseFormats],
})
export class AgentModule {}
