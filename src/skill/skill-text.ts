import { parseDocument } from 'yaml';
import type { Message } from '../platform/message/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

/** A folder that is scanned for skills. */
export interface SkillRoot {
  /** The displayed source of the skills: `built-in`, `.agents/skills`. */
  readonly source: string;
  /** A trusted folder. Links on the way to it are followed, links below it never. */
  readonly base: string;
  /** The folder of the skills below the base, with `/` between names; default: the base. */
  readonly folder?: string;
}

/** A skill without its text, which readSkill and readSkillResource read on use. */
export interface SkillInfo {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly base: string;
  /** The skill's folder below the base, with `/` between names. */
  readonly path: string;
  /** Problems that do not prevent the use of the skill. */
  readonly warnings: readonly Message[];
}

/** An entry skipped by a scan, and how to correct it. The path is relative to the root's base. */
export interface SkillProblem {
  readonly path: string;
  readonly reason: Message;
}

export interface SkillScan {
  /** Skills in scan order; each name once. */
  readonly skills: readonly SkillInfo[];
  readonly skipped: readonly SkillProblem[];
}

/** The content of a SKILL.md. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  /** The text after the frontmatter, unchanged. */
  readonly body: string;
  readonly warnings: readonly Message[];
}

/** Limits of skill packages (docs/WIRE.md, Skills); the last three bound the work of one scan. Sizes are bytes. */
export const SKILL_LIMITS = {
  descriptionCharacters: 1_000,
  entryFileBytes: 256 * 1024,
  resourceBytes: 1024 * 1024,
  skills: 100,
  depth: 6,
  /** Limited, because YAML parsing time grows with the square of the length. */
  frontmatterBytes: 16 * 1024,
  /** Files and folders per scan. */
  entries: 10_000,
  /** Time limit of a scan. */
  seconds: 30,
} as const;

/** The SKILL.md breaks a rule, which the message names. */
export class InvalidSkillError extends InvalidInputError {}

export class SkillResourcePathError extends InvalidInputError {
  constructor(path: string, why: Message) {
    super(
      msg`The path "${path.slice(0, 100)}" ${why}. Give the path of a file in the folder of the skill, for example references/guide.md.`,
    );
  }
}

export class SkillResourceTooLargeError extends InvalidInputError {
  constructor(path: string, limitBytes: number) {
    super(
      msg`${path} is larger than ${limitBytes} bytes. Split it, or use a script of the skill that reads it in parts.`,
    );
  }
}

export class SkillResourceNotTextError extends InvalidInputError {
  constructor(path: string) {
    super(
      msg`${path} is not UTF-8 text and cannot be shown. Convert it to UTF-8, or use it as a file without reading it.`,
    );
  }
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Further fields of the public Agent Skills format; they have no effect here. */
const KNOWN_FIELDS = new Set([
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
]);
const FENCE = '---';
/** A field with a plain one-line value, such as `description: Use it when: always`. */
const PLAIN_FIELD = /^([a-z][a-z-]*):[ \t]+([^\s"'|>&*!%@`[{#].*)$/i;

/** Reads a SKILL.md (docs/WIRE.md, Skills). InvalidSkillError says what its author has to correct. */
export function readSkillText(bytes: Uint8Array): SkillText {
  const { frontmatter, body } = parts(decoded(bytes));
  const { fields, warnings } = fieldsOf(frontmatter);
  const { name, description } = fields;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new InvalidSkillError(
      msg`The frontmatter needs a name of 1 to 64 lower-case letters a-z, digits and hyphens that begins with a letter or digit.`,
    );
  }
  const unknown = Object.keys(fields).filter((field) => !KNOWN_FIELDS.has(field));
  return {
    name,
    description: checkedDescription(description),
    body,
    warnings: [
      ...warnings,
      ...(unknown.length > 0
        ? [msg`Fields without effect: ${quoteForMessage(unknown.join(', '))}.`]
        : []),
      ...(/-$|--/.test(name)
        ? [msg`Other implementations refuse a name with -- or a trailing hyphen.`]
        : []),
    ],
  };
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InvalidSkillError(msg`SKILL.md is not UTF-8. Save it as UTF-8.`);
  }
}

function parts(text: string): { frontmatter: string; body: string } {
  const lines = text.split(/(?<=\n)/);
  const isFence = (line: string | undefined): boolean => line?.trimEnd() === FENCE;
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (!isFence(lines[0]) || end < 0) {
    throw new InvalidSkillError(
      msg`SKILL.md has no closed frontmatter. Start it with a line ---, then name and description, then another line ---.`,
    );
  }
  const frontmatter = lines.slice(1, end).join('');
  if (Buffer.byteLength(frontmatter) > SKILL_LIMITS.frontmatterBytes) {
    throw new InvalidSkillError(
      msg`The frontmatter is longer than ${SKILL_LIMITS.frontmatterBytes} bytes. Move text into the body.`,
    );
  }
  return { frontmatter, body: lines.slice(end + 1).join('') };
}

/** Unquoted values with a colon are a frequent mistake, so a second attempt reads plain values literally. */
function fieldsOf(frontmatter: string): {
  fields: Readonly<Record<string, unknown>>;
  warnings: Message[];
} {
  try {
    return { fields: parsed(frontmatter), warnings: [] };
  } catch (error) {
    const quoted = frontmatter
      .split('\n')
      .map((line) =>
        line
          .trimEnd()
          .replace(
            PLAIN_FIELD,
            (_, field: string, value: string) => `${field}: ${JSON.stringify(value)}`,
          ),
      )
      .join('\n');
    try {
      return {
        fields: parsed(quoted),
        warnings: [
          msg`The frontmatter is not valid YAML and was read as plain text: quote its values.`,
        ],
      };
    } catch {
      throw new InvalidSkillError(
        msg`The frontmatter is not valid YAML: ${quoteForMessage(messageOf(error))}`,
      );
    }
  }
}

/** All values are texts; aliases are refused, because they can expand a short text without limit. */
function parsed(frontmatter: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(frontmatter, {
    schema: 'failsafe',
    logLevel: 'silent',
    prettyErrors: false,
  });
  const [error] = document.errors;
  if (error) throw error;
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('it must consist of fields, such as name: my-skill.');
  }
  return value as Readonly<Record<string, unknown>>;
}

function checkedDescription(description: unknown): string {
  const text = typeof description === 'string' ? description.trim().toWellFormed() : '';
  if (text === '') {
    throw new InvalidSkillError(
      msg`The frontmatter needs a description that says what the skill does and when to use it.`,
    );
  }
  const limit = SKILL_LIMITS.descriptionCharacters;
  const length = [...text].length;
  if (length > limit) {
    throw new InvalidSkillError(
      msg`The description has ${length} characters; at most ${limit} are allowed. Shorten it.`,
    );
  }
  if (/[\x00-\x08\x0b-\x1f\x7f]/.test(text)) {
    throw new InvalidSkillError(msg`The description contains control characters. Remove them.`);
  }
  return text;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function quoteForMessage(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}
