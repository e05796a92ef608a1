import { isSuperAdmin, mayAny } from '../platform/access/index.js';
import type { Caller, CallerKey } from '../platform/access/index.js';
import { ConflictError, ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { anyOf, msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

/**
 * use: search it and get answers from it, or call it. read: see its content and settings. write: change it. manage: delete
 * it and grant access to it. Each includes those before it.
 */
export const LEVELS = { use: 1, read: 2, write: 3, manage: 4 } as const;
export type GrantLevel = keyof typeof LEVELS;
export const LEVEL_NAMES = Object.keys(LEVELS) as GrantLevel[];

/** The subject that every user of the tenant has. */
export const TENANT_SUBJECT = 'tenant';
export const SUBJECT_KINDS = [TENANT_SUBJECT, 'user', 'role', 'group'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];
export const SUBJECT = /^(tenant|(user|role|group):[1-9]\d{0,14})$/;

/** The permission to grant the records that one manages to others. */
export const MAY_GRANT = 'access:grant';
/** The permission to grant records to every user of the tenant. */
const MAY_PUBLISH = 'access:publish';
/**
 * The permission to see names, owners and grants of all records of the tenant, and to change these grants. It is no level and
 * opens no content: administrators who need the content grant it to themselves, which the audit log shows.
 */
export const MAY_ADMINISTER = 'access:administer';

/** A kind of records that are granted. */
interface Resource {
  readonly label: Message;
  readonly table: string;
  readonly nameColumn: string;
  /** The column with the id of the user who made it; null once that user is deleted. */
  readonly ownerColumn?: string;
  /** Condition of records that are granted at all. */
  readonly condition?: string;
  /** The target of its entries in the audit log. */
  readonly auditTarget: string;
  /** The limit of API keys that applies to it, if there is one. */
  readonly keyLimit?: keyof CallerKey['limits'];
  readonly levels: readonly GrantLevel[];
  /** The permission that a route for the level asks besides the grant. */
  readonly permissions: Partial<Readonly<Record<GrantLevel, string>>>;
  /** The permission with which every record of the tenant is managed, without a grant. */
  readonly managedBy?: string;
}

/**
 * The kinds of records that are granted. A further one is an entry here. The grants of a document are its list of readers:
 * they narrow the grants of its base and give nothing by themselves.
 */
export const RESOURCES = {
  knowledge: {
    label: msg`The knowledge base`,
    table: 'knowledge_base',
    nameColumn: 'name',
    ownerColumn: 'user_id',
    // The base of a chat session is its owner's alone.
    condition: 'session_id IS NULL',
    auditTarget: 'knowledge_base',
    keyLimit: 'knowledgeBases',
    levels: LEVEL_NAMES,
    permissions: {
      read: 'system:info:query',
      write: 'system:info:edit',
      manage: 'system:info:remove',
    },
  },
  agent: {
    label: msg`The agent`,
    table: 'agent',
    nameColumn: 'agent_name',
    ownerColumn: 'user_id',
    auditTarget: 'agent',
    keyLimit: 'agents',
    levels: LEVEL_NAMES,
    permissions: {
      read: 'agent:agent:query',
      write: 'agent:agent:edit',
      manage: 'agent:agent:remove',
    },
  },
  model: {
    label: msg`The model`,
    table: 'model',
    nameColumn: 'model_name',
    auditTarget: 'model',
    keyLimit: 'models',
    levels: ['use'],
    permissions: {},
    managedBy: 'system:model:edit',
  },
  'tool-server': {
    label: msg`The tool server`,
    table: 'tool_server',
    nameColumn: 'name',
    ownerColumn: 'user_id',
    auditTarget: 'tool_server',
    levels: LEVEL_NAMES,
    permissions: {
      read: 'mcp:server:query',
      write: 'mcp:server:edit',
      manage: 'mcp:server:remove',
    },
  },
  document: {
    label: msg`The document`,
    table: 'attachment',
    nameColumn: 'name',
    auditTarget: 'attachment',
    keyLimit: 'knowledgeBases',
    levels: ['read'],
    permissions: {},
  },
} as const satisfies Record<string, Resource>;

export type ResourceType = keyof typeof RESOURCES;
export const RESOURCE_TYPES = Object.keys(RESOURCES) as ResourceType[];
/** The kinds that a grant alone lets a subject reach. */
export const REACHED_TYPES = RESOURCE_TYPES.filter((type) => type !== 'document');
export type ReachedType = Exclude<ResourceType, 'document'>;

export function resourceOf(type: ResourceType): Resource {
  return RESOURCES[type];
}

/** The type that a path names. Throws UnknownTypeError. */
export function readType(name: string): ResourceType {
  const type = RESOURCE_TYPES.find((one) => one === name);
  if (!type) throw new UnknownTypeError();
  return type;
}

/** The caller as grants see them. */
export type Grantee = Pick<Caller, 'subjects' | 'permissions'>;

/** The subjects that a statement compares; null for a caller who passes every check. */
export function comparedSubjects(caller: Grantee): readonly string[] | null {
  return isSuperAdmin(caller) ? null : caller.subjects;
}

export function mayPublish(caller: Caller): boolean {
  return mayAny(caller, [MAY_PUBLISH]);
}

export function mayAdminister(caller: Caller): boolean {
  return mayAny(caller, [MAY_ADMINISTER]);
}

/** Throws PublishPermissionError. */
export function requireMayPublish(caller: Caller): void {
  if (!mayPublish(caller)) throw new PublishPermissionError();
}

export function userSubject(userId: number): string {
  return `user:${userId}`;
}

/** The kind and id of a subject; the tenant has no id. */
export function readSubject(subject: string): { kind: SubjectKind; id: number | null } {
  const [kind, id] = subject.split(':') as [SubjectKind, string?];
  return { kind, id: id === undefined ? null : Number(id) };
}

/** The name of a stored level. */
export function levelName(level: number): GrantLevel {
  const name = LEVEL_NAMES[level - 1];
  if (!name) throw new Error(`There is no level ${level}.`);
  return name;
}

class UnknownTypeError extends InvalidInputError {
  constructor() {
    super(msg`The type of a record is ${anyOf(RESOURCE_TYPES)}.`);
  }
}

export class LevelNeededError extends ForbiddenError {
  constructor(what: Message, level: GrantLevel) {
    super(msg`${what}: you need the access level ${level}. Ask one who manages the record.`);
  }
}

/** Grants of one record. */
export const MAX_GRANTS = 1_000;

/** Reads the readers of documents that a form sends as JSON: subjects, none with an empty list; undefined without it. */
export function readReaders(json: string | undefined): readonly string[] | undefined {
  if (!json?.trim()) return undefined;
  let readers: unknown;
  try {
    readers = JSON.parse(json);
  } catch {
    throw new InvalidReadersError();
  }
  if (!Array.isArray(readers) || readers.length > MAX_GRANTS) throw new InvalidReadersError();
  const subjects = readers.filter(
    (one): one is string => typeof one === 'string' && SUBJECT.test(one),
  );
  if (subjects.length < readers.length) throw new InvalidReadersError();
  return [...new Set(subjects)];
}

class InvalidReadersError extends InvalidInputError {
  constructor() {
    super(
      msg`readers must be JSON of a list of at most ${MAX_GRANTS} subjects, each tenant, user:ID, role:ID or group:ID.`,
    );
  }
}

/** The caller may not choose the readers of a document. */
export class ReadersPermissionError extends ForbiddenError {
  constructor() {
    super(
      msg`To choose who may read a document, you need the permission access:grant. Ask an administrator for it, or leave the readers out.`,
    );
  }
}

export class NoListError extends InvalidInputError {
  constructor() {
    super(msg`grants: null takes away the readers of a document. Send the list of grants.`);
  }
}

class PublishPermissionError extends ForbiddenError {
  constructor() {
    super(
      msg`To give every user of the tenant access, you need the permission access:publish. Grant it to users, roles or groups instead, or ask an administrator.`,
    );
  }
}

export class NoManagerError extends ConflictError {
  constructor() {
    super(
      msg`One of the grants must have the level manage, or no user could change or delete the record. Give it to a user, role or group.`,
    );
  }
}

export class UnsuitableLevelError extends InvalidInputError {
  constructor(what: Message, levels: readonly GrantLevel[]) {
    super(msg`${what} can be granted with the level ${anyOf(levels)} only.`);
  }
}

export class RepeatedSubjectError extends InvalidInputError {
  constructor(subject: string) {
    super(msg`The subject ${subject} is in the list twice. Send it once, with its highest level.`);
  }
}

export class UnknownSubjectError extends InvalidInputError {
  constructor(subject: string) {
    super(
      msg`There is no subject ${subject}. GET /access/subjects lists the users, roles and groups of the tenant.`,
    );
  }
}
