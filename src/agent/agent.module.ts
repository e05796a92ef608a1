import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { SkillModule } from '../skill/index.js';
import { Agent } from './agent.entity.js';
import { AgentBindings } from './agent.bindings.js';
import { AgentController } from './agent.controller.js';
import { AgentRepository } from './agent.repository.js';
import { AgentService } from './agent.service.js';
import { McpToolController } from './mcp-tool.controller.js';
import { WorkflowController } from './workflow.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([Agent]), KnowledgeModule, ModelModule, SkillModule],
  controllers: [AgentController, McpToolController, WorkflowController],
  providers: [AgentBindings, AgentRepository, AgentService],
  exports: [AgentService],
})
export class AgentModule {}
