import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers } from '../../../platform/http/index.js';
import { SkillDiscovery } from '../../context/skill.discovery.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { SessionService } from '../session/session.service.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { HarnessSkillsView, toSkillsView } from './skill.view.js';

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

/** What people are told about the skills of a session. */
@Injectable()
export class HarnessSkillService {
  constructor(
    private readonly sessions: SessionService,
    private readonly roots: WorkspaceRoots,
    private readonly discovery: SkillDiscovery,
  ) {}

  /** The skills as the session's next run would find them, and what it would leave out. */
  async ofSession(caller: Caller, sessionId: string): Promise<HarnessSkillsView> {
    const { tenantId, workspace, workspaceIdentity } = await this.sessions.own(caller, sessionId);
    await this.roots.check(tenantId, workspace, workspaceIdentity);
    return toSkillsView(await this.discovery.find(workspace, new AbortController().signal));
  }
}
