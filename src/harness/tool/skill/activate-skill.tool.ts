import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ToolError } from '../../fault/tool.error.js';
import type { PolicySubject } from '../../protocol/policy.js';
import type { RunSkills } from '../../store/run-skills.js';
import { SkillRepository } from '../../store/skill.repository.js';
import type { OfferFacts, ReadTool, ToolContext, ToolOutcome } from '../tool.js';

const input = z.strictObject({
  name: z.string().max(64).describe('The name of one of the skills listed in your instructions.'),
});
type Input = z.infer<typeof input>;

/** Gives the model the text of a skill. */
@Injectable()
export class ActivateSkillTool implements ReadTool<Input> {
  readonly name = 'activate_skill';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Gives you the instructions of a skill. Call it as soon as the task matches the description of a skill, before you begin, and then follow what it says. Activate a skill once: its text stays with you. A skill is advice on how to work; it allows nothing that you may not do without it.';

  constructor(private readonly skills: SkillRepository) {}

  title({ name }: Input): string {
    return `activate the skill ${name}`;
  }

  refusal({ hasSkills }: OfferFacts): string | undefined {
    return hasSkills ? undefined : 'This workspace has no skills.';
  }

  async subject(): Promise<PolicySubject> {
    return { kind: 'read', secret: false };
  }

  /**
   * The exact body of SKILL.md, whatever its length. A second time a short answer: however much of a run is compacted,
   * ContextBuilder keeps the bodies of active skills.
   */
  async run({ name }: Input, context: ToolContext): Promise<ToolOutcome> {
    const { skills, run, toolCallId } = context;
    const skill = skills.list.find((one) => one.name === name);
    const body = skills.body(name);
    if (!skill || body === undefined) throw unknownSkill(name, skills);
    if (await this.skills.isActive(run, name, toolCallId)) {
      return {
        content: `The skill ${name} is already active: its text stands above. Go on with it.`,
        summary: `${name} was already active`,
      };
    }
    const { source, sha256: sha } = skill;
    return {
      content: body,
      summary: `activated ${name} (${source})`,
      events: [{ type: 'skill.activated', data: { name, source, sha }, subject: { toolCallId } }],
    };
  }
}

/** Names the skills that there are. */
export function unknownSkill(name: string, skills: RunSkills): ToolError {
  const names = skills.list.map((skill) => skill.name).join(', ');
  const known = names === '' ? 'This run has none.' : `There are: ${names}.`;
  return new ToolError('SKILL_ERROR', `There is no skill "${name.slice(0, 64)}". ${known}`);
}
