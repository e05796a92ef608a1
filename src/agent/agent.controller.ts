import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { AgentListQuery, CreateAgentBody, UpdateAgentBody } from './agent.dto.js';
import { AgentService } from './agent.service.js';
import {
  AgentOptionView,
  agentSheet,
  AgentView,
  RuntimeOptionView,
  SkillOptionView,
  ToolOptionView,
} from './agent.view.js';

@ApiTags('agents')
@Controller('agent/agent')
export class AgentController {
  constructor(private readonly agents: AgentService) {}

  /** The agents that the caller may read, last changed first. */
  @Get('list')
  @RequirePermission('agent:agent:list')
  @AnswersPage(AgentView)
  @WithExport(agentSheet, RequirePermission('agent:agent:export'))
  list(@CurrentCaller() caller: Caller, @Query() query: AgentListQuery): Promise<Page<AgentView>> {
    return this.agents.list(caller, query);
  }

  /** The same agents as `data`. */
  @Get('queryList')
  @RequirePermission('agent:agent:list')
  @AnswersArray(AgentView)
  rows(
    @CurrentCaller() caller: Caller,
    @Query() query: AgentListQuery,
  ): Promise<readonly AgentView[]> {
    return this.agents.rows(caller, query);
  }

  /** The enabled agents that the caller may use, without their prompts. */
  @Get('agentOptions')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersArray(AgentOptionView)
  options(@CurrentCaller() caller: Caller): Promise<AgentOptionView[]> {
    return this.agents.options(caller);
  }

  /** The built-in skills that an agent can be given. */
  @Get('skillOptions')
  @RequirePermission('agent:agent:list')
  @AnswersArray(SkillOptionView)
  skillOptions(): SkillOptionView[] {
    return this.agents.skillOptions();
  }

  /** The tools that an agent can switch on; they need a runtime that uses tools. */
  @Get('toolOptions')
  @RequirePermission('agent:agent:list')
  @AnswersArray(ToolOptionView)
  toolOptions(@CurrentCaller() caller: Caller): Promise<ToolOptionView[]> {
    return this.agents.toolOptions(caller);
  }

  /** The runtimes: how an agent can answer. */
  @Get('runtimeOptions')
  @RequirePermission('agent:agent:list')
  @AnswersArray(RuntimeOptionView)
  runtimeOptions(): RuntimeOptionView[] {
    return this.agents.runtimeOptions();
  }

  /** One agent. */
  @Get(':id')
  @RequirePermission('agent:agent:query')
  @Answers(AgentView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<AgentView> {
    return this.agents.get(caller, id);
  }

  /** Creates an agent, which the caller manages. They need the level use on its model and knowledge bases. */
  @Post()
  @RequirePermission('agent:agent:add')
  @Answers(AgentView)
  create(@CurrentCaller() caller: Caller, @Body() body: CreateAgentBody): Promise<AgentView> {
    return this.agents.create(caller, body);
  }

  /** Changes an agent on which the caller has the level write; the next message to it uses the new settings. */
  @Put()
  @RequirePermission('agent:agent:edit')
  @Answers(AgentView)
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateAgentBody): Promise<AgentView> {
    return this.agents.update(caller, body);
  }

  /** Deletes agents that the caller manages. Conversations with them are kept. */
  @Delete(':ids')
  @RequirePermission('agent:agent:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.agents.remove(caller, ids);
  }
}
