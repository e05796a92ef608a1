import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { HarnessSkillsView } from './skill.view.js';
import { HarnessSkillService } from './skill.service.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/skills')
export class HarnessSkillController {
  constructor(private readonly skills: HarnessSkillService) {}

  /** The skills that the session's next run would load, and those it would leave out, with the reasons. */
  @Get()
  @RequirePermission('coding:harness:use')
  @Answers(HarnessSkillsView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sid: string,
  ): Promise<HarnessSkillsView> {
    return this.skills.ofSession(caller, sid);
  }
}
