import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersArray, AnswersRaw, NoEnvelope } from '../../../platform/http/index.js';
import { RunService } from '../run/run.service.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { ArtifactContentQuery, RunDiffQuery, UndoBody } from './change.dto.js';
import { RunArtifacts, RunChanges } from './change.service.js';
import { ArtifactView, ChangedFileView, RunDiffView, UndoResultView } from './change.view.js';
import { UndoService } from '../../engine/undo/undo.service.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
@RequirePermission('coding:harness:use')
export class ChangeController {
  constructor(
    private readonly changes: RunChanges,
    private readonly artifacts: RunArtifacts,
  ) {}

  /** What the run has changed, as one difference; undone changes are left out. */
  @Get('diff')
  @Answers(RunDiffView)
  diff(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() query: RunDiffQuery,
  ): Promise<RunDiffView> {
    return this.changes.diff(caller, { sessionId, runId }, query);
  }

  /** The files that the run has changed, and whether each could be undone. */
  @Get('files')
  @AnswersArray(ChangedFileView)
  files(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ChangedFileView[]> {
    return this.changes.files(caller, sessionId, runId);
  }

  /** The whole outputs of the run's tools, and the images of its requirement. */
  @Get('artifacts')
  @AnswersArray(ArtifactView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ArtifactView[]> {
    return this.artifacts.list(caller, sessionId, runId);
  }

  /** The bytes of an artifact, or some of them, as a file to download: an image, or plain text. */
  @Get('artifacts/:artifactId')
  @NoEnvelope()
  @AnswersRaw('*/*', 'The bytes of the artifact')
  send(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('artifactId', UuidPipe) artifactId: string,
    @Query() query: ArtifactContentQuery,
    @Res() response: Response,
  ): Promise<void> {
    return this.artifacts.send(caller, { sessionId, runId, artifactId, ...query }, response);
  }
}

/** Where coding:harness:write is needed, it is because the session is not READ_ONLY. */
@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
@RequirePermission('coding:harness:use')
export class UndoController {
  constructor(
    private readonly runs: RunService,
    private readonly undos: UndoService,
  ) {}

  /** Takes back what a finished run has changed. Needs coding:harness:write, too. */
  @Post('undo')
  @Answers(UndoResultView)
  async take(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    return this.undos.perform(caller, { ...body, session, run, direction: 'undo' });
  }

  /** Does again what was undone. Needs coding:harness:write, too. */
  @Post('redo')
  @Answers(UndoResultView)
  async redo(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    return this.undos.perform(caller, { ...body, session, run, direction: 'redo' });
  }
}
