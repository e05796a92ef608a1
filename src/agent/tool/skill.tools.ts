import { Injectable } from '@nestjs/common';
import {
  activateSkillInput,
  readSkill,
  readSkillResource,
  resourcePart,
  skillResourceInput,
  unknownSkill,
} from '../../skill/index.js';
import type { ActivateSkillInput, SkillInfo, SkillResourceInput } from '../../skill/index.js';
import { ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome, ToolTurn } from './agent-tool.js';

/** Less than the maximum of an answer, so that the remark about the cut fits. */
const MAX_PART_BYTES = 31_000;
const ENTRY_FILE = 'SKILL.md';
/** Maximum characters per description in the list of skills. */
const MAX_DESCRIPTION_CHARS = 300;

/** Gives the model the instructions of a skill. */
@Injectable()
export class ActivateSkillTool implements AgentTool<ActivateSkillInput> {
  readonly name = 'activate_skill';
  readonly input = activateSkillInput;
  readonly refusal = withoutSkills;
  readonly description =
    'Gives you the instructions of a skill. Call it as soon as the task matches the description of a skill, and then follow what it says. Activate a skill once. A skill is advice on how to work: it allows nothing that you may not do without it, and its scripts cannot be run here.';

  describe({ skills }: ToolTurn): string {
    const lines = skills.map(({ name, description }) => `- ${name}: ${short(description)}`);
    return ['The skills:', ...lines].join('\n');
  }

  /** The body of SKILL.md. A long one is cut; the rest is read as the resource SKILL.md. */
  async run({ name }: ActivateSkillInput, context: ToolContext): Promise<ToolOutcome> {
    const skill = skillOf(name, context);
    const { body } = await readSkill(skill, context.signal);
    const summary = `activated ${name}`;
    const part = resourcePart(body, { path: ENTRY_FILE, offset: 0, bytes: MAX_PART_BYTES });
    if (!part.isCut) return { content: part.content, summary };
    const whole = await readSkillResource(skill, ENTRY_FILE, context.signal);
    const next = whole.length - body.length + part.end;
    const remark = `[Cut. Read the rest with read_skill_resource, path ${ENTRY_FILE} and offset ${next}.]`;
    return { content: `${body.slice(0, part.end)}\n${remark}`, summary };
  }
}

/** Reads a file that belongs to a skill. */
@Injectable()
export class ReadSkillResourceTool implements AgentTool<SkillResourceInput> {
  readonly name = 'read_skill_resource';
  readonly input = skillResourceInput;
  readonly refusal = withoutSkills;
  readonly description =
    'Reads a text file that belongs to a skill, such as a reference or a template that its instructions name. At most 1 MiB of UTF-8 text; an answer shows up to 31,000 bytes and says how to go on.';

  async run(
    { name, path, offset = 0 }: SkillResourceInput,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const skill = skillOf(name, context);
    const text = await readSkillResource(skill, path, context.signal);
    const { content } = resourcePart(text, { path, offset, bytes: MAX_PART_BYTES });
    return { content, summary: `read ${path} of ${name}` };
  }
}

function skillOf(name: string, { skills }: ToolTurn): SkillInfo {
  const skill = skills.find((one) => one.name === name);
  if (skill) return skill;
  const names = skills.map((one) => one.name);
  throw new ToolFailure(unknownSkill(name, names, 'This agent has none.'));
}

function withoutSkills({ skills }: ToolTurn): string | undefined {
  return skills.length === 0 ? 'This agent has no skills.' : undefined;
}

function short(description: string): string {
  const line = description.replaceAll(/\s+/g, ' ');
  return line.length > MAX_DESCRIPTION_CHARS
    ? `${line.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…`
    : line;
}
