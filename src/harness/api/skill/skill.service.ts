import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { HarnessSkills } from '../../context/skills.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { SessionService } from '../session/session.service.js';
import { HarnessSkillsView, toSkillsView } from './skill.view.js';

/** What people are told about the skills of a session. */
@Injectable()
export class HarnessSkillService {
  constructor(
    private readonly sessions: SessionService,
    private readonly roots: WorkspaceRoots,
    private readonly skills: HarnessSkills,
  ) {}

  /** The skills as the session's next run would find them, and what it would leave out. */
  async ofSession(caller: Caller, sessionId: string): Promise<HarnessSkillsView> {
    const { tenantId, workspace, workspaceIdentity } = await this.sessions.own(caller, sessionId);
    await this.roots.check(tenantId, workspace, workspaceIdentity);
    return toSkillsView(await this.skills.find(workspace, new AbortController().signal));
  }
}
