import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersArray, AnswersStatus, IdPipe } from '../platform/http/index.js';
import { ReceivedFiles, ReceivesFileOrJson } from '../platform/storage/index.js';
import type { UploadedPart } from '../platform/storage/index.js';
import {
  BeginQuery,
  CompleteBody,
  ConnectorBody,
  PauseBody,
  PutDocumentBody,
  SourceQuery,
} from './source.dto.js';
import { SourceService } from './source.service.js';
import {
  BegunRunView,
  RemovalView,
  KnowledgeSourceView,
  StoredDocumentView,
} from './source.view.js';

@ApiTags('sources')
@Controller('system/info/:knowledgeId/source')
export class SourceController {
  constructor(private readonly sources: SourceService) {}

  /** The sources of a knowledge base with their last runs, by name, at most 100. */
  @Get()
  @RequirePermission('system:attach:list')
  @AnswersArray(KnowledgeSourceView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
  ): Promise<KnowledgeSourceView[]> {
    return this.sources.list(caller, knowledgeId);
  }

  /** Makes a connector of this service, or changes that with the name. It runs with the rights that the caller has at each run. */
  @Put()
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  save(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Body() body: ConnectorBody,
  ): Promise<void> {
    return this.sources.save(caller, knowledgeId, body);
  }

  /** Runs a connector now. */
  @Post('run')
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  run(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: SourceQuery,
  ): Promise<void> {
    return this.sources.runNow(caller, { ...query, knowledgeId });
  }

  /** Pauses the schedule of a connector, or lets it go on. A run that is under way goes on. */
  @Post('pause')
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  pause(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: SourceQuery,
    @Body() body: PauseBody,
  ): Promise<void> {
    return this.sources.pause(caller, { ...query, knowledgeId }, body.paused);
  }

  /** Begins a run: what is put from now on counts as seen. Another run of the source that is open ends. */
  @Post('begin')
  @RequirePermission('system:attach:edit')
  @Answers(BegunRunView)
  begin(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: BeginQuery,
  ): Promise<BegunRunView> {
    return this.sources.begin(caller, knowledgeId, query);
  }

  /**
   * Removes the documents of the source that were not put since the run began, at most 1,000 at once, and ends the run. Documents
   * of other sources and of people stay.
   */
  @Post('complete')
  @RequirePermission('system:attach:edit')
  @Answers(RemovalView)
  complete(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: SourceQuery,
    @Body() body: CompleteBody,
  ): Promise<RemovalView> {
    return this.sources.complete(caller, { ...query, knowledgeId }, body);
  }

  /**
   * Puts a document under its id at the source: a form with a part named `file`, or JSON with text or an address. The same content
   * is not parsed again, while metadata and readers are applied. `externalId` is encoded as one part of the path.
   */
  @Put(':externalId')
  @RequirePermission('system:attach:edit')
  @ReceivesFileOrJson()
  @Answers(StoredDocumentView)
  put(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Param('externalId') externalId: string,
    @Query() query: SourceQuery,
    @Body() body: PutDocumentBody,
    @ReceivedFiles() files: UploadedPart[],
  ): Promise<StoredDocumentView> {
    return this.sources.put(caller, { ...query, knowledgeId, externalId }, body, files);
  }

  /** Removes a document of the source. It is no error if there is none. */
  @Delete(':externalId')
  @RequirePermission('system:attach:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Param('externalId') externalId: string,
    @Query() query: SourceQuery,
  ): Promise<void> {
    return this.sources.remove(caller, { ...query, knowledgeId, externalId });
  }

  /** Removes a source with its documents, at most 1,000 at once; with the last one the source itself. */
  @Delete()
  @RequirePermission('system:attach:remove')
  @Answers(RemovalView)
  removeSource(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
    @Query() query: SourceQuery,
  ): Promise<RemovalView> {
    return this.sources.removeSource(caller, { ...query, knowledgeId });
  }
}
