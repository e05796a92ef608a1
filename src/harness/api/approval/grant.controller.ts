import { Controller, Delete, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AnswersArray, AnswersStatus } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { GrantService } from './grant.service.js';
import { GrantView } from './grant.view.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/grants')
export class GrantController {
  constructor(private readonly grants: GrantService) {}

  /** What was granted for the rest of the session and still holds. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(GrantView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<GrantView[]> {
    return this.grants.list(caller, sessionId);
  }

  /** Takes a grant back: the next such call is asked for again. */
  @Delete(':grantId')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @AnswersStatus()
  revoke(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('grantId', UuidPipe) grantId: string,
  ): Promise<void> {
    return this.grants.revoke(caller, sessionId, grantId);
  }
}
