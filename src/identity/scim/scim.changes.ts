import { msg } from '../../platform/message/index.js';
import { invalidPath, invalidValue, ScimError } from './scim.errors.js';
import { attributeName, fits, MAX_FILTER_CHARS, parseFilter } from './scim.filter.js';
import type { Filter } from './scim.filter.js';

/** Attributes of RFC 7643 that directories send and this service does not store. */
const IGNORED_ATTRIBUTES = new Set([
  ...['addresses', 'costcenter', 'department', 'division', 'employeenumber', 'entitlements'],
  ...['groups', 'ims', 'locale', 'manager', 'nickname', 'organization', 'password', 'photos'],
  ...['preferredlanguage', 'profileurl', 'roles', 'timezone', 'title', 'usertype'],
  'x509certificates',
]);
/** Attributes that the service sets. Directories repeat them in a body; a path that names one is refused. */
const READ_ONLY_ATTRIBUTES = new Set(['id', 'meta', 'schemas']);
const PATH = /^([^[\]]+)(?:\[(.*)\](?:\.([^[\].]+))?)?$/s;
const MAX_OPERATIONS = 1_000;

/** The changes of a request to a user; undefined keeps a value, null removes it. */
export interface UserChanges {
  userName?: string;
  externalId?: string | null;
  displayName?: string | null;
  formatted?: string | null;
  givenName?: string | null;
  familyName?: string | null;
  email?: string | null;
  phone?: string | null;
  active?: boolean;
}

/** A member of a group. Ids of users and groups are numbers of their own, so that a value alone can name two members. */
export interface GroupMemberRef {
  readonly type: 'User' | 'Group';
  readonly value: string;
}

/** The members of a group by `memberKey`. */
export type GroupMembers = Map<string, GroupMemberRef>;

export function memberKey({ type, value }: GroupMemberRef): string {
  return `${type} ${value}`;
}

/** The changes of a request to a group. `members` is called with the present members and changes them. */
export interface GroupChanges {
  displayName?: string;
  externalId?: string | null;
  members?: MemberChange;
}

interface Step {
  readonly op: 'add' | 'remove' | 'replace';
  /** The name of the attribute in lower case. */
  readonly attribute: string;
  readonly filter: Filter | undefined;
  readonly value: unknown;
}

/** The changes of POST and PUT. Attributes that are missing stay as they are (RFC 7644, 3.5.1). */
export function userOf(resource: unknown): UserChanges {
  const changes: UserChanges = {};
  for (const step of resourceSteps(resource)) changeUser(changes, step);
  return changes;
}

export function groupOf(resource: unknown): GroupChanges {
  const changes: GroupChanges = {};
  for (const step of resourceSteps(resource)) changeGroup(changes, step);
  return changes;
}

/** The changes of PATCH (RFC 7644, 3.5.2), in the forms that Entra ID and Okta send. */
export function patchedUser(body: unknown): UserChanges {
  const changes: UserChanges = {};
  for (const step of patchSteps(body)) changeUser(changes, step);
  return changes;
}

export function patchedGroup(body: unknown): GroupChanges {
  const changes: GroupChanges = {};
  for (const step of patchSteps(body)) changeGroup(changes, step);
  return changes;
}

function resourceSteps(resource: unknown): Step[] {
  if (!isObject(resource)) {
    throw new ScimError('invalidSyntax', msg`A resource must be a JSON object.`);
  }
  return stepsOf({ op: 'replace', value: resource });
}

function patchSteps(body: unknown): Step[] {
  const operations = isObject(body) ? entryOf(body, 'operations') : undefined;
  if (!Array.isArray(operations) || operations.length > MAX_OPERATIONS) {
    throw new ScimError(
      'invalidSyntax',
      msg`Operations must be a list of at most ${MAX_OPERATIONS} operations.`,
    );
  }
  return operations.flatMap((operation: unknown) => {
    if (!isObject(operation)) {
      throw new ScimError('invalidSyntax', msg`An operation must be an object.`);
    }
    const op = lowerCase(entryOf(operation, 'op'));
    if (op !== 'add' && op !== 'remove' && op !== 'replace') {
      throw new ScimError('invalidSyntax', msg`The op of an operation is add, remove or replace.`);
    }
    const value = entryOf(operation, 'value');
    const path = entryOf(operation, 'path') ?? undefined;
    if (path !== undefined && (typeof path !== 'string' || path.length > MAX_FILTER_CHARS)) {
      throw invalidPath(typeof path === 'string' ? path : 'path');
    }
    if (op === 'remove' && path === undefined) {
      throw new ScimError('noTarget', msg`An operation that removes needs a path.`);
    }
    return stepsOf({ op, path, value });
  });
}

/** One step for each attribute: a value without a path is an object of attributes, whose names may be paths. */
function stepsOf({
  op,
  path,
  value,
}: {
  op: Step['op'];
  path?: string | undefined;
  value: unknown;
}): Step[] {
  if (path !== undefined) return stepOf(op, path, value);
  if (!isObject(value)) throw invalidValue('value');
  return Object.entries(value).flatMap(([name, inner]) => {
    const attribute = attributeName(name);
    if (READ_ONLY_ATTRIBUTES.has(attribute) || isIgnored(attribute)) return [];
    // The core schema can be sent as an object of its own.
    if (/^urn:ietf:params:scim:schemas:core:2\.0:(user|group)$/.test(attribute)) {
      return stepsOf({ op, value: inner });
    }
    if (attribute === 'name' && isObject(inner)) return inName(op, inner);
    return SUPPORTED_ATTRIBUTES.has(attribute) || /[.[]/.test(attribute)
      ? stepOf(op, name, inner)
      : [];
  });
}

const SUPPORTED_ATTRIBUTES = new Set([
  ...['username', 'externalid', 'displayname', 'active', 'emails', 'phonenumbers', 'members'],
  ...['name', 'name.formatted', 'name.givenname', 'name.familyname'],
]);

function stepOf(op: Step['op'], path: string, value: unknown): Step[] {
  const [, name = '', filter, sub] = PATH.exec(path) ?? [];
  const attribute = attributeName(name) + (sub === undefined ? '' : `.${sub.toLowerCase()}`);
  const [top = ''] = attribute.split('.');
  if (isIgnored(attribute)) return [];
  if (READ_ONLY_ATTRIBUTES.has(attribute)) {
    throw new ScimError('mutability', msg`The attribute ${attribute} cannot be changed.`);
  }
  if (!SUPPORTED_ATTRIBUTES.has(top)) throw invalidPath(path);
  if (attribute === 'name') return isObject(value) || op === 'remove' ? inName(op, value) : [];
  const parsed = filter === undefined ? undefined : filterOf(top, filter);
  return [{ op, attribute, filter: parsed, value }];
}

function filterOf(attribute: string, text: string): Filter {
  return parseFilter(`${attribute}[${text}]`);
}

function inName(op: Step['op'], value: unknown): Step[] {
  const parts = isObject(value) ? value : { formatted: null, givenName: null, familyName: null };
  return Object.entries(parts).flatMap(([name, inner]) => {
    const attribute = `name.${name.toLowerCase()}`;
    return SUPPORTED_ATTRIBUTES.has(attribute)
      ? [{ op, attribute, filter: undefined, value: inner }]
      : [];
  });
}

function changeUser(changes: UserChanges, { op, attribute, filter, value: rawValue }: Step): void {
  const value: unknown = op === 'remove' ? null : rawValue;
  switch (attribute) {
    case 'username':
      changes.userName = textOf('userName', value, 64) ?? required('userName');
      return;
    case 'externalid':
      changes.externalId = textOf('externalId', value, 255);
      return;
    case 'displayname':
      changes.displayName = textOf('displayName', value, 64);
      return;
    case 'name.formatted':
      changes.formatted = textOf('name.formatted', value, 64);
      return;
    case 'name.givenname':
      changes.givenName = textOf('name.givenName', value, 64);
      return;
    case 'name.familyname':
      changes.familyName = textOf('name.familyName', value, 64);
      return;
    case 'active':
      changes.active = flagOf('active', value);
      return;
    case 'emails':
    case 'emails.value':
      if (selectsStoredEntry('emails.', filter)) changes.email = oneOf('emails', value, 100);
      return;
    case 'phonenumbers':
    case 'phonenumbers.value':
      if (selectsStoredEntry('phonenumbers.', filter))
        changes.phone = oneOf('phoneNumbers', value, 20);
      return;
    default:
      // Parts of a name or an address that are not stored, such as name.honorificPrefix and emails.type.
      if (/^(name|emails|phonenumbers)\.[a-z$]+$/.test(attribute)) return;
      throw invalidPath(attribute);
  }
}

function changeGroup(changes: GroupChanges, { op, attribute, filter, value }: Step): void {
  switch (attribute) {
    case 'displayname':
      changes.displayName =
        textOf('displayName', op === 'remove' ? null : value, 255) ?? required('displayName');
      return;
    case 'externalid':
      changes.externalId = textOf('externalId', op === 'remove' ? null : value, 255);
      return;
    case 'members': {
      const earlier = changes.members;
      const change = memberChange(op, filter, value);
      changes.members = (members) => {
        earlier?.(members);
        change(members);
      };
      return;
    }
    default:
      throw invalidPath(attribute);
  }
}

/** Changes the members that it is called with. */
type MemberChange = (members: GroupMembers) => void;

function memberChange(op: Step['op'], filter: Filter | undefined, value: unknown): MemberChange {
  if (filter) return memberRemoval(op, filter);
  if (op === 'remove') {
    // Entra ID names the members to remove in the value.
    if (value === undefined || value === null) return (members) => members.clear();
    const removedKeys = memberRefs(value).flatMap(({ type, value: id }) => keysOf(id, type));
    return (members) => {
      for (const key of removedKeys) members.delete(key);
    };
  }
  // A new member without a type is a user.
  const added = memberRefs(value).map(({ type = 'User', value: id }) => ({ type, value: id }));
  return (members) => {
    if (op === 'replace') members.clear();
    for (const member of added) members.set(memberKey(member), member);
  };
}

function memberRemoval(op: Step['op'], filter: Filter): MemberChange {
  if (op !== 'remove') throw invalidPath('members');
  if (filter.kind === 'compare' && filter.operator === 'eq' && filter.path === 'members.value') {
    // Okta sends one such operation for each member.
    const removedKeys = keysOf(String(filter.value));
    return (members) => {
      for (const key of removedKeys) members.delete(key);
    };
  }
  const matches = ({ type, value }: GroupMemberRef): boolean =>
    fits(filter, 'members.', { type, value });
  // The filter is checked now, because a group without members would accept any filter.
  matches({ type: 'User', value: '' });
  return (members) => {
    for (const [key, member] of members) if (matches(member)) members.delete(key);
  };
}

/** The keys of the members that a value names: without a type the user and the group with the id. */
function keysOf(value: string, type?: GroupMemberRef['type']): string[] {
  const types = type === undefined ? (['User', 'Group'] as const) : [type];
  return types.map((one) => memberKey({ type: one, value }));
}

/** The members that a request names. Their type is that of `type` or `$ref`, undefined if both are absent. */
function memberRefs(value: unknown): { type: GroupMemberRef['type'] | undefined; value: string }[] {
  if (value === null || value === undefined) return [];
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((member) => {
    const id = isObject(member) ? entryOf(member, 'value') : member;
    if (typeof id !== 'string' || id === '') throw invalidValue('members');
    return { type: isObject(member) ? memberType(member) : undefined, value: id };
  });
}

function memberType(member: Readonly<Record<string, unknown>>): GroupMemberRef['type'] | undefined {
  const reference = entryOf(member, '$ref');
  const address = typeof reference === 'string' ? reference : '';
  const name = entryOf(member, 'type') ?? /(?:^|\/)(User|Group)s\/[^/]+$/i.exec(address)?.[1];
  if (name === undefined) return undefined;
  const types = ['User', 'Group'] as const;
  const memberType = types.find((one) => one.toLowerCase() === lowerCase(name));
  if (memberType === undefined) throw invalidValue('members.type');
  return memberType;
}

/** Whether a filter selects the one address that is stored, which is the work address. */
function selectsStoredEntry(prefix: string, filter: Filter | undefined): boolean {
  if (!filter) return true;
  if (filter.kind === 'compare' && filter.path === `${prefix}value`) return true;
  return fits(filter, prefix, { type: 'work', primary: true });
}

/** The primary address, else the work address, else the first one. */
function oneOf(attribute: string, value: unknown, maxChars: number): string | null {
  if (!Array.isArray(value)) return textOf(attribute, valueIn(value), maxChars);
  const entries = value as unknown[];
  const preferredEntry =
    entries.find((one) => isObject(one) && entryOf(one, 'primary') === true) ??
    entries.find((one) => isObject(one) && entryOf(one, 'type') === 'work') ??
    entries[0];
  return textOf(attribute, valueIn(preferredEntry), maxChars);
}

function valueIn(entry: unknown): unknown {
  return isObject(entry) ? entryOf(entry, 'value') : entry;
}

function textOf(attribute: string, value: unknown, maxChars: number): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'string' || value.includes('\0')) throw invalidValue(attribute);
  const text = value.toWellFormed().trim();
  if (text.length <= maxChars) return text === '' ? null : text;
  throw new ScimError(
    'invalidValue',
    msg`The attribute ${attribute} has more than ${maxChars} characters.`,
  );
}

/** Reads a flag; Entra ID sends "True" and "False". */
function flagOf(attribute: string, value: unknown): boolean {
  const flag = valueIn(value);
  if (typeof flag === 'boolean') return flag;
  const text = lowerCase(flag);
  if (text === 'true' || text === 'false') return text === 'true';
  throw invalidValue(attribute);
}

function lowerCase(value: unknown): string | undefined {
  return typeof value === 'string' ? value.toLowerCase() : undefined;
}

function required(attribute: string): never {
  throw new ScimError('invalidValue', msg`The attribute ${attribute} is required.`);
}

function isIgnored(attribute: string): boolean {
  const [top = ''] = attribute.split(/[.[]/);
  return (
    IGNORED_ATTRIBUTES.has(top) ||
    (attribute.startsWith('urn:') && !attribute.startsWith('urn:ietf:params:scim:schemas:core:'))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The entry with the name; names of attributes ignore case (RFC 7643, 2.1). */
function entryOf(value: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name];
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
