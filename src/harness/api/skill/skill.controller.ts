import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, list, localized, text, texts, View } from '../../../platform/http/index.js';
import { HarnessSkills } from '../../context/skills.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';

export class HarnessSkillView extends View({
  name: text({ example: 'verification' }),
  description: text({ description: 'What the model chooses it by' }),
  source: text({
    example: '.agents/skills',
    description: 'built-in, or a folder of the workspace',
  }),
  path: text({ example: '.agents/skills/verification', description: 'Its folder' }),
  sha256: text({ description: 'Of the text of SKILL.md below the frontmatter' }),
  warnings: texts({ description: 'Problems that its author should fix' }),
}) {}

export class SkippedSkillView extends View({
  path: text({ example: '.agents/skills/broken/SKILL.md' }),
  reason: text({ description: 'Why it was left out, and what to do about it' }),
}) {}

export class HarnessSkillsView extends View({
  skills: list(HarnessSkillView, { description: 'In the order of discovery' }),
  skipped: list(SkippedSkillView),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/skills')
export class HarnessSkillController {
  constructor(
    private readonly runs: RunService,
    private readonly roots: WorkspaceRoots,
    private readonly skills: HarnessSkills,
  ) {}

  /** The skills that the session's next run would load, and those it would leave out, with the reasons. */
  @Get()
  @RequirePermission('coding:harness:use')
  @Answers(HarnessSkillsView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sid: string,
  ): Promise<HarnessSkillsView> {
    const { tenantId, workspace, workspaceIdentity } = await this.runs.sessionOf(caller, sid);
    await this.roots.check(tenantId, workspace, workspaceIdentity);
    const discovered = await this.skills.find(workspace, new AbortController().signal);
    return {
      skills: discovered.skills.map(({ warnings, ...skill }) =>
        HarnessSkillView.of(skill, { warnings: warnings.map((warning) => localized(warning)) }),
      ),
      skipped: discovered.skipped.map(({ path, reason }) =>
        SkippedSkillView.of({ path, reason: localized(reason) }),
      ),
    };
  }
}
