import { StringDecoder } from 'node:string_decoder';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PolicySubject } from '../../protocol/policy.js';
import { DomainError, NotFoundError } from '../../../platform/error/index.js';
import { readSkillResource } from '../../../skill/index.js';
import type { SkillInfo } from '../../../skill/index.js';
import { sha256 } from '../../protocol/ids.js';
import { BUILT_IN } from '../../store/run-skills.js';
import { ToolError } from '../../fault/tool.error.js';
import { SHOWN_BYTES } from '../shown-text.js';
import type { OfferFacts, ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { unknownSkill } from './activate-skill.tool.js';

const input = z.strictObject({
  name: z.string().max(64).describe('The name of the skill.'),
  path: z
    .string()
    .max(4096)
    .describe("Path of the file below the skill's folder, for example references/guide.md."),
  offset: z
    .int()
    .min(0)
    .optional()
    .describe('Character to begin with, as an answer that was cut has told it. 0 when left out.'),
});
type Input = z.infer<typeof input>;

/** Reads a file that belongs to a skill. */
@Injectable()
export class ReadSkillResourceTool implements ReadTool<Input> {
  readonly name = 'read_skill_resource';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Reads a text file that belongs to a skill, such as a reference, a template or a script that its instructions name. At most 1 MiB of UTF-8 text; an answer shows up to 46 KiB and says how to go on. Use read_file for files of the workspace that belong to no skill.';

  title({ name, path }: Input): string {
    return `read ${path} of the skill ${name}`;
  }

  refusal({ hasSkills }: OfferFacts): string | undefined {
    return hasSkills ? undefined : 'This workspace has no skills.';
  }

  /** A file that holds secrets is refused and never asked for: read_file is the way to it. */
  async subject({ name, path }: Input, context: ToolContext): Promise<PolicySubject> {
    this.allowed(name, path, context);
    return { kind: 'read', secret: false };
  }

  async run({ name, path, offset = 0 }: Input, context: ToolContext): Promise<ToolOutcome> {
    const skill = this.allowed(name, path, context);
    const text = await readSkillResource(skill, path, context.signal).catch((error: unknown) => {
      throw error instanceof DomainError ? refused(error) : error;
    });
    const bytes = Buffer.byteLength(text);
    if (offset > 0 && offset >= text.length) throw beyond(path, text, offset);
    const shown = shownOf(text, offset);
    const isCut = offset + shown.length < text.length;
    const event = {
      type: 'skill.resource_read',
      data: { name, source: skill.source, sha: sha256(text), path, bytes },
      subject: { toolCallId: context.toolCallId },
    } as const;
    const whole = text === '' ? '[The file is empty.]' : shown;
    return {
      content: isCut ? `${shown}\n${goOn(text, offset + shown.length)}` : whole,
      summary: `read ${path} of ${name}, ${bytes} bytes`,
      truncated: isCut,
      events: [event],
    };
  }

  private allowed(name: string, path: string, { skills, workspace }: ToolContext): SkillInfo {
    const skill = skills.info(name);
    if (!skill) throw unknownSkill(name, skills);
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

function beyond(path: string, text: string, offset: number): ToolError {
  return new ToolError(
    'INVALID_ARGUMENTS',
    `${path} has only ${text.length} characters; offset ${offset} is behind its end. Give a smaller offset.`,
  );
}

/** What fits into one answer, without half a character at its end. */
function shownOf(text: string, offset: number): string {
  const rest = Buffer.from(text.slice(offset));
  return new StringDecoder('utf8').write(rest.subarray(0, SHOWN_BYTES));
}

function goOn(text: string, next: number): string {
  return `[Cut: ${text.length - next} of ${text.length} characters are missing. Call again with offset ${next}.]`;
}
