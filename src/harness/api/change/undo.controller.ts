import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { UndoBody } from './undo.dto.js';
import { UndoService } from './undo.service.js';
import { UndoResultView } from './undo.view.js';

/** Where coding:harness:write is needed, it is because the session is not READ_ONLY. */
@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
@RequirePermission('coding:harness:use')
export class UndoController {
  constructor(private readonly undo: UndoService) {}

  /** Takes back what a finished run has changed. Needs coding:harness:write, too. */
  @Post('undo')
  @Answers(UndoResultView)
  take(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    return this.undo.perform(caller, { ...body, sessionId, runId, direction: 'undo' });
  }

  /** Does again what was undone. Needs coding:harness:write, too. */
  @Post('redo')
  @Answers(UndoResultView)
  redo(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    return this.undo.perform(caller, { ...body, sessionId, runId, direction: 'redo' });
  }
}
