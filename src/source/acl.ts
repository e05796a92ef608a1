import { InvalidAclError } from './source.errors.js';

/** Who may read a document at its source. Names are those of the directory: Plinth may not know all of them. */
export type Acl =
  | 'public'
  | { readonly users: readonly string[]; readonly groups: readonly string[] };

/** A name of an acl that is no reader yet. */
export interface UnknownReader {
  readonly kind: 'user' | 'group';
  readonly name: string;
}

const MAX_NAMES = 1_000;
const MAX_NAME_CHARS = 320;

/** Reads an acl, which a form sends as JSON; undefined without one. A list that cannot be read is refused, never ignored. */
export function readAcl(input: unknown): Acl | undefined {
  if (input === undefined || input === null || input === '') return undefined;
  const acl: unknown = typeof input === 'string' ? parsed(input) : input;
  if (typeof acl !== 'object' || acl === null || Array.isArray(acl)) throw invalid();
  const { public: isPublic = false, users = [], groups = [], ...others } = acl as AclFields;
  if (typeof isPublic !== 'boolean' || Object.keys(others).length > 0) throw invalid();
  const lists = { users: readNames(users), groups: readNames(groups) };
  const count = lists.users.length + lists.groups.length;
  if (count > MAX_NAMES || (isPublic && count > 0)) throw invalid();
  return isPublic ? 'public' : lists;
}

type AclFields = Readonly<Record<string, unknown>>;

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw invalid();
  }
}

function readNames(list: unknown): string[] {
  if (!Array.isArray(list)) throw invalid();
  const names = list.map((name) => (typeof name === 'string' ? name.trim() : ''));
  if (names.some((name) => name === '' || name.length > MAX_NAME_CHARS || name.includes('\0'))) {
    throw invalid();
  }
  return [...new Set(names)];
}

function invalid(): InvalidAclError {
  return new InvalidAclError(MAX_NAMES);
}

/** Whether the second list lets a reader in that the first does not; null is each reader of the base. */
export function isWider(
  before: readonly string[] | null,
  after: readonly string[] | null,
): boolean {
  if (before === null) return false;
  return after === null || after.some((subject) => !before.includes(subject));
}

/** The readers of both lists. */
export function narrowed(
  before: readonly string[] | null,
  after: readonly string[] | null,
): readonly string[] | null {
  if (before === null || after === null) return before ?? after;
  return before.filter((subject) => after.includes(subject));
}
