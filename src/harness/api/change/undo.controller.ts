import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers } from '../../../platform/http/index.js';
import { UndoService } from '../../engine/undo/undo.service.js';
import { RunService } from '../run/run.service.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { UndoBody } from './undo.dto.js';
import { UndoResultView } from './undo.view.js';

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
