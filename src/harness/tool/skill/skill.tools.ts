import { Injectable } from '@nestjs/common';
import { DomainError, NotFoundError } from '../../../platform/error/index.js';
import {
  activateSkillInput,
  readSkillResource,
  resourcePart,
  skillResourceInput,
  unknownSkill,
} from '../../../skill/index.js';
import type { ActivateSkillInput, SkillInfo, SkillResourceInput } from '../../../skill/index.js';
import { ToolError } from '../../fault/tool.error.js';
import { sha256 } from '../../protocol/values.js';
import type { PolicySubject } from '../../protocol/policy.js';
import { BUILT_IN, SkillRepository } from '../../store/message.repository.js';
import type { RunSkills } from '../../store/message.repository.js';
import { SHOWN_BYTES } from '../text.js';
import type { OfferFacts, ReadTool, ToolContext, ToolOutcome } from '../tool.js';

/** Gives the model the text of a skill. */
@Injectable()
export class ActivateSkillTool implements ReadTool<ActivateSkillInput> {
  readonly name = 'activate_skill';
  readonly effectClass = 'READ';
  readonly refusal = withoutSkills;
  readonly input = activateSkillInput;
  readonly description =
    'Gives you the instructions of a skill. Call it as soon as the task matches the description of a skill, before you begin, and then follow what it says. Activate a skill once: its text stays with you. A skill is advice on how to work; it allows nothing that you may not do without it.';

  constructor(private readonly skills: SkillRepository) {}

  title({ name }: ActivateSkillInput): string {
    return `activate the skill ${name}`;
  }

  async subject(): Promise<PolicySubject> {
    return { kind: 'read', secret: false };
  }

  /**
   * The exact body of SKILL.md, whatever its length. A second time a short answer: however much of a run is compacted,
   * ContextBuilder keeps the bodies of active skills.
   */
  async run({ name }: ActivateSkillInput, context: ToolContext): Promise<ToolOutcome> {
    const { skills, run, toolCallId } = context;
    const skill = skills.list.find((one) => one.name === name);
    const body = skills.body(name);
    if (!skill || body === undefined) throw unknownTo(name, skills);
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

/** Reads a file that belongs to a skill. */
@Injectable()
export class ReadSkillResourceTool implements ReadTool<SkillResourceInput> {
  readonly name = 'read_skill_resource';
  readonly effectClass = 'READ';
  readonly refusal = withoutSkills;
  readonly input = skillResourceInput;
  readonly description =
    'Reads a text file that belongs to a skill, such as a reference, a template or a script that its instructions name. At most 1 MiB of UTF-8 text; an answer shows up to 46 KiB and says how to go on. Use read_file for files of the workspace that belong to no skill.';

  title({ name, path }: SkillResourceInput): string {
    return `read ${path} of the skill ${name}`;
  }

  /** A file that holds secrets is refused and never asked for: read_file is the way to it. */
  async subject({ name, path }: SkillResourceInput, context: ToolContext): Promise<PolicySubject> {
    this.allowed(name, path, context);
    return { kind: 'read', secret: false };
  }

  async run(
    { name, path, offset = 0 }: SkillResourceInput,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const skill = this.allowed(name, path, context);
    const text = await readSkillResource(skill, path, context.signal).catch((error: unknown) => {
      throw error instanceof DomainError ? refused(error) : error;
    });
    const bytes = Buffer.byteLength(text);
    const part = partOf(text, path, offset);
    const event = {
      type: 'skill.resource_read',
      data: { name, source: skill.source, sha: sha256(text), path, bytes },
      subject: { toolCallId: context.toolCallId },
    } as const;
    return {
      content: part.content,
      summary: `read ${path} of ${name}, ${bytes} bytes`,
      truncated: part.isCut,
      events: [event],
    };
  }

  private allowed(name: string, path: string, { skills, workspace }: ToolContext): SkillInfo {
    const skill = skills.info(name);
    if (!skill) throw unknownTo(name, skills);
    if (skill.source !== BUILT_IN && workspace.classify(`${skill.path}/${path}`).secret) {
      throw new ToolError(
        'SECRET_PATH',
        `${path.slice(0, 100)} looks like a file with secrets and is not read as part of a skill. Use read_file if the task needs it, which asks the user.`,
      );
    }
    return skill;
  }
}

function refused(error: DomainError): ToolError {
  const code = error instanceof NotFoundError ? 'NOT_FOUND' : 'SKILL_ERROR';
  return new ToolError(code, error.message);
}

function partOf(text: string, path: string, offset: number): ReturnType<typeof resourcePart> {
  try {
    return resourcePart(text, { path, offset, bytes: SHOWN_BYTES });
  } catch (error) {
    throw error instanceof DomainError ? new ToolError('INVALID_ARGUMENTS', error.message) : error;
  }
}

function withoutSkills({ hasSkills }: OfferFacts): string | undefined {
  return hasSkills ? undefined : 'This workspace has no skills.';
}

/** Names the skills that there are. */
function unknownTo(name: string, skills: RunSkills): ToolError {
  const names = skills.list.map((skill) => skill.name);
  return new ToolError('SKILL_ERROR', unknownSkill(name, names, 'This run has none.'));
}
