import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, AnswersArray } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { ResolveEffectBody } from './effect.dto.js';
import { EffectService } from './effect.service.js';
import { EffectView } from './effect.view.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/effects')
export class EffectController {
  constructor(private readonly resolutions: EffectService) {}

  /** The tool calls of a run and what came of them. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(EffectView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<EffectView[]> {
    return this.resolutions.list(caller, sessionId, runId);
  }

  /** Says what an UNCERTAIN tool call has done. */
  @Post(':toolCallId/resolution')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(EffectView)
  resolve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('toolCallId', UuidPipe) toolCallId: string,
    @Body() body: ResolveEffectBody,
  ): Promise<EffectView> {
    return this.resolutions.resolve(caller, { sessionId, runId, toolCallId }, body);
  }
}
