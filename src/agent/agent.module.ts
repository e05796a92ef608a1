import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { EffectModule } from '../effect/index.js';
import { IdentityModule } from '../identity/index.js';
import { GrantModule } from '../grant/index.js';
import { FragmentModule } from '../fragment/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { McpModule } from '../mcp/index.js';
import { MetadataModule } from '../metadata/index.js';
import { ModelModule } from '../model/index.js';
import { RetrievalModule } from '../retrieval/index.js';
import { SkillModule } from '../skill/index.js';
import { WebModule } from '../web/index.js';
import { Agent } from './agent.entity.js';
import { AgentController } from './agent.controller.js';
import { AgentBases } from './agent.bases.js';
import { AgentRepository } from './agent.repository.js';
import { AgentService } from './agent.service.js';
import { ResponseFormats } from './format/response-formats.js';
import { agentRuntimeProviders, AgentRuntimes } from './runtime/runtime.registry.js';
import { AgentServerTools } from './tool/server.tools.js';
import { agentToolProviders, AgentTools } from './tool/tool.registry.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Agent]),
    EffectModule,
    FragmentModule,
    GrantModule,
    IdentityModule,
    KnowledgeModule,
    McpModule,
    MetadataModule,
    ModelModule,
    RetrievalModule,
    SkillModule,
    WebModule,
  ],
  controllers: [AgentController],
  providers: [
    AgentBases,
    AgentRepository,
    AgentService,
    AgentServerTools,
    ResponseFormats,
    ...agentToolProviders,
    ...agentRuntimeProviders,
  ],
  exports: [AgentService, AgentTools, AgentRuntimes, ResponseFormats],
})
export class AgentModule {
  constructor(names: AuditNames) {
    names.join('agent', Agent, 'agentName');
  }
}
