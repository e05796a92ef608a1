import type { TFunction } from 'i18next';
import { argumentsOf } from './event-data';
import type { Call } from './event-data';
import type texts from './texts.en.json';

type Say = TFunction<'harness'>;

/** A key without the ending that counts. */
type Stem<Key> = Key extends `${infer Name}_${'one' | 'other'}` ? Name : Key;
type Title = Stem<keyof (typeof texts)['did']>;

/**
 * What a call does, from its tool and its arguments. The server's own title, in English, stays for a tool or arguments that
 * are not known here. It also stays where it does not hold an argument as it is: the server marks characters that cannot be
 * seen, masks secrets and shortens long values.
 */
export function callTitle(
  t: Say,
  { toolName, argumentsJson, title }: Pick<Call, 'toolName' | 'argumentsJson' | 'title'>,
): string {
  const given = argumentsOf(argumentsJson);
  const has = (name: string): boolean => given[name] !== undefined;
  const say = (key: Title, values: Readonly<Record<string, unknown>>, count = 0): string => {
    return isIn(title, values) ? t(`did.${key}`, { ...values, count }) : title;
  };
  const { path, pattern, name, command, depth = 1, edits } = given;
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

/** What a warning of the service is about. */
export function shownWarning(t: Say, kind: string): string {
  const known = WARNINGS.find((one) => one === kind);
  return known ? t(`warning.${known}`) : kind;
}
