import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answers,
  AnswersPage,
  AnswersRaw,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  NoEnvelope,
  ReadsJson,
  WhileConnected,
} from '../../platform/http/index.js';
import type { Answer, Page } from '../../platform/http/index.js';
import { ReceivedFiles, ReceivesFiles } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import {
  CreateTestQueryBody,
  ExportTestSetQuery,
  ImportTestSetBody,
  TestQueryListQuery,
  UpdateTestQueryBody,
  EvaluateBody,
  EvaluationListQuery,
} from './test-set.dto.js';
import { TestSetImport } from './test-set.import.js';
import { TestSetService } from './test-set.service.js';
import { ImportView, TestQueryView, EvaluationView, NewEvaluationView } from './test-set.view.js';
import { EvaluationService } from './evaluation.service.js';

@ApiTags('retrieval test sets')
@Controller('system/info/:knowledgeId/testset')
export class TestSetController {
  constructor(
    private readonly testSets: TestSetService,
    private readonly imports: TestSetImport,
  ) {}

  /** The queries of a test set with their expected results, newest first. */
  @Get('list')
  @RequirePermission('system:info:query')
  @AnswersPage(TestQueryView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: TestQueryListQuery,
  ): Promise<Page<TestQueryView>> {
    return this.testSets.list(caller, knowledgeId, query);
  }

  /** One file of the test set in the layout of BEIR; importing both files restores the test set. */
  @Get('export')
  @NoEnvelope()
  @RequirePermission('system:info:query')
  @AnswersRaw('text/plain', 'queries.jsonl or qrels.tsv')
  async export(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: ExportTestSetQuery,
    @Res() response: Response,
  ): Promise<void> {
    response.type('text/plain').send(await this.testSets.export(caller, knowledgeId, query));
  }

  /** Adds a query. */
  @Post()
  @RequirePermission('system:info:edit')
  @Answers(TestQueryView)
  create(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: CreateTestQueryBody,
  ): Promise<TestQueryView> {
    return this.testSets.create(caller, knowledgeId, body);
  }

  /**
   * Adds or replaces many queries: the two BEIR files, as texts in a JSON body or as parts named `file`. `msg` names
   * unknown documents and fragments.
   */
  @Post('import')
  @RequirePermission('system:info:edit')
  @ReceivesFiles()
  @ReadsJson(ImportTestSetBody)
  @Answers(ImportView)
  import(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: ImportTestSetBody,
    @ReceivedFiles() parts: UploadedPart[],
  ): Promise<Answer<ImportView>> {
    return this.imports.import(caller, knowledgeId, { body, parts });
  }

  /** Changes a query or its expected results. */
  @Put()
  @RequirePermission('system:info:edit')
  @Answers(TestQueryView)
  update(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: UpdateTestQueryBody,
  ): Promise<TestQueryView> {
    return this.testSets.update(caller, knowledgeId, body);
  }

  /** Deletes queries. */
  @Delete(':ids')
  @RequirePermission('system:info:edit')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Param('ids', IdsPipe) ids: number[],
  ): Promise<void> {
    return this.testSets.remove(caller, knowledgeId, ids);
  }
}

@ApiTags('retrieval test sets')
@Controller('system/info/:knowledgeId')
export class EvaluationController {
  constructor(private readonly evaluations: EvaluationService) {}

  /**
   * Runs the test set with the given settings and answers nDCG, recall and MRR with the difference to the run before. It
   * runs as long as its queries and ends when the client disconnects; `msg` has notices about the run.
   */
  @Post('evaluate')
  @RequirePermission('system:info:edit')
  @Answers(NewEvaluationView)
  run(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: EvaluateBody,
    @WhileConnected() signal: AbortSignal,
  ): Promise<Answer<NewEvaluationView>> {
    return this.evaluations.evaluate(caller, knowledgeId, { body, signal });
  }

  /** The runs of a test set, newest first; the last hundred are kept. */
  @Get('evaluation/list')
  @RequirePermission('system:info:query')
  @AnswersPage(EvaluationView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: EvaluationListQuery,
  ): Promise<Page<EvaluationView>> {
    return this.evaluations.list(caller, knowledgeId, query);
  }
}
