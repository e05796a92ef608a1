import { parseDocument } from 'yaml';
import { InvalidSkillError } from './skill.errors.js';
import type { SkillText } from './skill.info.js';
import { SKILL_LIMITS } from './skill.limits.js';

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Fields that the public Agent Skills format knows besides; none of them grants or changes anything here. */
const KNOWN_FIELDS = new Set([
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
]);
const FENCE = '---';
/** A field with a plain value of one line, such as `description: Use it when: always`. */
const PLAIN_FIELD = /^([a-z][a-z-]*):[ \t]+([^\s"'|>&*!%@`[{#].*)$/i;

/** Reads a SKILL.md (specification, Skill and Limits). InvalidSkillError says what its author has to mend. */
export function readSkillText(bytes: Uint8Array): SkillText {
  const { frontmatter, body } = parts(decoded(bytes));
  const { fields, warnings } = fieldsOf(frontmatter);
  const { name, description } = fields;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new InvalidSkillError(
      'The frontmatter needs a name of 1 to 64 lower-case letters a-z, digits and hyphens that begins with a letter or digit.',
    );
  }
  const unknown = Object.keys(fields).filter((field) => !KNOWN_FIELDS.has(field));
  return {
    name,
    description: checkedDescription(description),
    body,
    warnings: [
      ...warnings,
      ...(unknown.length > 0 ? [`Fields without a meaning: ${shown(unknown.join(', '))}.`] : []),
      ...(/-$|--/.test(name)
        ? ['Elsewhere, a name with -- or a hyphen at its end is refused.']
        : []),
    ],
  };
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InvalidSkillError('SKILL.md is not UTF-8. Save it as UTF-8.');
  }
}

function parts(text: string): { frontmatter: string; body: string } {
  const lines = text.split(/(?<=\n)/);
  const isFence = (line: string | undefined): boolean => line?.trimEnd() === FENCE;
  const end = lines.findIndex((line, index) => index > 0 && isFence(line));
  if (!isFence(lines[0]) || end < 0) {
    throw new InvalidSkillError(
      'SKILL.md has no closed frontmatter. Begin it with a line ---, then name and description, then another line ---.',
    );
  }
  const frontmatter = lines.slice(1, end).join('');
  if (Buffer.byteLength(frontmatter) > SKILL_LIMITS.frontmatterBytes) {
    throw new InvalidSkillError(
      `The frontmatter is longer than ${SKILL_LIMITS.frontmatterBytes} bytes. Move text below it.`,
    );
  }
  return { frontmatter, body: lines.slice(end + 1).join('') };
}

/** A value with a colon in it is a frequent mistake, so a second try takes plain values literally. */
function fieldsOf(frontmatter: string): {
  fields: Readonly<Record<string, unknown>>;
  warnings: string[];
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
          'The frontmatter is no valid YAML and was read as plain text: quote its values.',
        ],
      };
    } catch {
      throw new InvalidSkillError(`The frontmatter is no valid YAML: ${shown(messageOf(error))}`);
    }
  }
}

/** All values are texts; aliases, with which a short text grows without end, are refused. */
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
      'The frontmatter needs a description that says what the skill does and when to use it.',
    );
  }
  const limit = SKILL_LIMITS.descriptionCharacters;
  const length = [...text].length;
  if (length > limit) {
    throw new InvalidSkillError(
      `The description has ${length} characters; at most ${limit} are allowed. Shorten it.`,
    );
  }
  if (/[\x00-\x08\x0b-\x1f\x7f]/.test(text)) {
    throw new InvalidSkillError('The description holds control characters. Remove them.');
  }
  return text;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function shown(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}
