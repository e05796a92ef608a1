import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PolicySubject } from '../../protocol/policy.js';
import { SkillRepository } from '../../store/skill.repository.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { unknownSkill } from './unknown-skill.js';

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
