import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

/** Shared parts of the tools activate_skill and read_skill_resource of agents and the harness. */

export const activateSkillInput = z.strictObject({
  name: z.string().max(64).describe('The name of one of the skills listed in your instructions.'),
});
export type ActivateSkillInput = z.infer<typeof activateSkillInput>;

export const skillResourceInput = z.strictObject({
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
export type SkillResourceInput = z.infer<typeof skillResourceInput>;

export class SkillOffsetError extends InvalidInputError {
  constructor(path: string, characters: number, offset: number) {
    super(
      msg`${path} has only ${characters} characters; offset ${offset} is behind its end. Give a smaller offset.`,
    );
  }
}

/** A part of a text, with a remark where it was cut that says how to go on. */
export interface TextPart {
  readonly content: string;
  readonly isCut: boolean;
  /** The offset of the next part. */
  readonly end: number;
}

/** At most `bytes` of the text from an offset, ending at a character boundary. Throws SkillOffsetError past the end. */
export function resourcePart(
  text: string,
  { path, offset, bytes }: { path: string; offset: number; bytes: number },
): TextPart {
  if (offset > 0 && offset >= text.length) throw new SkillOffsetError(path, text.length, offset);
  const visibleText = firstBytes(text.slice(offset), bytes);
  const end = offset + visibleText.length;
  if (text === '') return { content: '[The file is empty.]', isCut: false, end };
  if (end >= text.length) return { content: visibleText, isCut: false, end };
  const missing = `${text.length - end} of ${text.length} characters are missing`;
  const content = `${visibleText}\n[Cut: ${missing}. Call again with offset ${end}.]`;
  return { content, isCut: true, end };
}

/** The answer to a name that no skill has. */
export function unknownSkill(name: string, skillNames: readonly string[], none: string): string {
  const names = skillNames.length === 0 ? none : `There are: ${skillNames.join(', ')}.`;
  return `There is no skill "${name.slice(0, 64)}". ${names}`;
}

function firstBytes(text: string, bytes: number): string {
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
