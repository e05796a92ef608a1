import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Answer, Page } from '../platform/http/index.js';
import { CreateKnowledgeBody, KnowledgeListQuery, UpdateKnowledgeBody } from './knowledge.dto.js';
import { KnowledgeService } from './knowledge.service.js';
import { knowledgeSheet, KnowledgeView } from './knowledge.view.js';

@ApiTags('knowledge bases')
@Controller('system/info')
export class KnowledgeController {
  constructor(private readonly knowledge: KnowledgeService) {}

  /** The knowledge bases that the caller may read, newest first. */
  @Get('list')
  @RequirePermission('system:info:list')
  @AnswersPage(KnowledgeView)
  @WithExport(knowledgeSheet, RequirePermission('system:info:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: KnowledgeListQuery,
  ): Promise<Page<KnowledgeView>> {
    return this.knowledge.list(caller, query);
  }

  /** One knowledge base. */
  @Get(':id')
  @RequirePermission('system:info:query')
  @Answers(KnowledgeView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<KnowledgeView> {
    return this.knowledge.get(caller, id);
  }

  /** Creates a knowledge base of the caller. `msg` says if another vector store than the named one is used. */
  @Post()
  @RequirePermission('system:info:add')
  @AnswersStatus()
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateKnowledgeBody,
  ): Promise<Answer<null>> {
    return this.knowledge.create(caller, body);
  }

  /** Changes a knowledge base. */
  @Put()
  @RequirePermission('system:info:edit')
  @AnswersStatus()
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: UpdateKnowledgeBody,
  ): Promise<Answer<null>> {
    return this.knowledge.update(caller, body);
  }

  /** Deletes knowledge bases that the caller manages, with their documents, fragments, vectors and files. */
  @Delete(':ids')
  @RequirePermission('system:info:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.knowledge.remove(caller, ids);
  }
}
