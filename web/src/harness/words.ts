import type { TFunction } from 'i18next';
import { argumentsOf } from './event-data';
import type { Call } from './event-data';
import type texts from './texts.en.json';

type HarnessTranslate = TFunction<'harness'>;

/** A text key without its plural suffix. */
type Stem<Key> = Key extends `${infer Name}_${'one' | 'other'}` ? Name : Key;
type Title = Stem<keyof (typeof texts)['did']>;

/**
 * Describes a call by its tool and arguments. The server's English title is used for tools or arguments that are unknown
 * here. It is also used if it does not contain an argument unchanged, because the server marks invisible characters,
 * masks secrets and shortens long values.
 */
export function callTitle(
  t: HarnessTranslate,
  { toolName, argumentsJson, title }: Pick<Call, 'toolName' | 'argumentsJson' | 'title'>,
): string {
  const args = argumentsOf(argumentsJson);
  const has = (name: string): boolean => args[name] !== undefined;
  const say = (key: Title, values: Readonly<Record<string, unknown>>, count = 0): string => {
    return isIn(title, values) ? t(`did.${key}`, { ...values, count }) : title;
  };
  const { path, pattern, name, command, depth = 1, edits } = args;
  switch (toolName) {
    case 'list_files':
      return depth === 1
        ? say('list', { path: path ?? '.' })
        : say('listLevels', { path: path ?? '.' }, Number(depth));
    case 'read_file':
      return say('read', { path });
    case 'glob_files':
      return has('path') ? say('findIn', { pattern, path }) : say('find', { pattern });
    case 'search_text':
      return has('path') ? say('searchIn', { pattern, path }) : say('search', { pattern });
    case 'edit_file':
      if (!Array.isArray(edits)) return title;
      return edits.length === 1 ? say('edit', { path }) : say('edits', { path }, edits.length);
    case 'write_file':
      return say('write', { path });
    case 'delete_file':
      return say('delete', { path });
    case 'shell':
      return say('run', { command });
    case 'activate_skill':
      return say('skill', { name });
    case 'read_skill_resource':
      return say('readSkill', { path, name });
    default:
      return title;
  }
}

function isIn(
  title: string,
  values: Readonly<Record<string, unknown>>,
): values is Readonly<Record<string, string>> {
  return Object.values(values).every((value) => typeof value === 'string' && title.includes(value));
}

const WARNINGS = [
  'identical_call',
  'alternating_calls',
  'invalid_input',
  'refused_call',
  'events',
] as const satisfies readonly (keyof (typeof texts)['warning'])[];

/** Describes a warning of the service. */
export function warningText(t: HarnessTranslate, kind: string): string {
  const knownKind = WARNINGS.find((one) => one === kind);
  return knownKind ? t(`warning.${knownKind}`) : kind;
}
