import { InvalidInputError } from '../platform/error/index.js';

/** The SKILL.md breaks a rule, which the message names. */
export class InvalidSkillError extends InvalidInputError {}

export class SkillResourcePathError extends InvalidInputError {
  constructor(path: string, why: string) {
    super(
      `The path "${path.slice(0, 100)}" ${why}. Give the path of a file in the folder of the skill, for example references/guide.md.`,
    );
  }
}

export class SkillResourceTooLargeError extends InvalidInputError {
  constructor(path: string, limitBytes: number) {
    super(
      `${path} is larger than ${limitBytes} bytes. Split it, or use a script of the skill that reads it in parts.`,
    );
  }
}

export class SkillResourceNotTextError extends InvalidInputError {
  constructor(path: string) {
    super(
      `${path} is not UTF-8 text and cannot be shown. Convert it to UTF-8, or use it as a file without reading it.`,
    );
  }
}
