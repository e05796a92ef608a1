/** The wildcard for all permissions. Super administrators have it; it passes every check. */
export const ALL_PERMISSIONS = '*:*:*';

export interface PermissionInfo {
  readonly permission: string;
  readonly group: string;
  readonly description: string;
  /** Whether it concerns the whole installation, so that only super administrators can assign it to a role. */
  readonly installation: boolean;
  /** Whether only super administrators have it, so that it is not offered to roles and keys. */
  readonly superAdminOnly: boolean;
}

const verbs: Readonly<Record<string, string>> = {
  list: 'See the list',
  query: 'See one',
  add: 'Create',
  edit: 'Change',
  remove: 'Delete',
  export: 'Export the list',
};
const crud = ['list', 'query', 'add', 'edit', 'remove', 'export'];

interface Group {
  readonly name: string;
  readonly prefix: string;
  readonly actions: readonly string[];
  /** Further actions with their descriptions. */
  readonly more?: Readonly<Record<string, string>>;
  readonly installation?: boolean;
  readonly superAdminOnly?: boolean;
}

function group({
  name,
  prefix,
  actions,
  more = {},
  installation = false,
  superAdminOnly = false,
}: Group): PermissionInfo[] {
  return [
    ...actions.map((action): [string, string] => [action, `${verbs[action] ?? action}: ${name}`]),
    ...Object.entries(more),
  ].map(([action, description]) => ({
    permission: `${prefix}:${action}`,
    group: name,
    description,
    installation,
    superAdminOnly,
  }));
}

/** All permissions. Role editors read them from GET /system/permission/list; routes can require no others. */
export const permissionCatalogue: readonly PermissionInfo[] = [
  ...group({
    name: 'tenants',
    prefix: 'system:tenant',
    actions: crud,
    installation: true,
    superAdminOnly: true,
  }),
  ...group({ name: 'clients', prefix: 'system:client', actions: crud, installation: true }),
  ...group({
    name: 'users',
    prefix: 'system:user',
    actions: crud,
    more: {
      resetPwd: 'Set the password of another user',
      import: 'Create and change users from a workbook',
    },
  }),
  ...group({ name: 'roles', prefix: 'system:role', actions: crud }),
  ...group({
    name: 'API keys',
    prefix: 'system:apikey',
    actions: ['list', 'query', 'add', 'edit', 'remove'],
    more: { others: 'Manage the API keys of other users and of service accounts' },
  }),
  ...group({
    name: 'single sign-on',
    prefix: 'system:sso',
    actions: ['list', 'query', 'add', 'edit', 'remove'],
    more: { test: 'Test the connection to a provider of sign-ins' },
  }),
  ...group({
    name: 'provisioning',
    prefix: 'system:scim',
    actions: [],
    more: { provision: 'Create and change users and groups by SCIM' },
  }),
  ...group({ name: 'dictionary', prefix: 'system:dict', actions: crud }),
  ...group({
    name: 'files',
    prefix: 'system:oss',
    actions: ['list', 'query', 'remove'],
    more: { upload: 'Upload files', download: 'Download files' },
  }),
  ...group({
    name: 'sign-ins',
    prefix: 'monitor:online',
    actions: ['list'],
    more: { forceLogout: 'End the sign-in of another user' },
  }),
  ...group({
    name: 'use of models',
    prefix: 'monitor:use',
    actions: [],
    more: { query: 'See turns, tokens, times and failures of the chat' },
  }),
  ...group({
    name: 'costs',
    prefix: 'monitor:usage',
    actions: ['export'],
    more: { query: 'See the calls, tokens and costs of every user' },
  }),
  ...group({
    name: 'limits',
    prefix: 'system:limit',
    actions: ['list', 'query', 'add', 'edit', 'remove'],
  }),
  ...group({ name: 'audit log', prefix: 'monitor:audit', actions: ['list', 'export'] }),
  ...group({ name: 'operation log', prefix: 'monitor:operlog', actions: ['list', 'export'] }),
  ...group({ name: 'sign-in log', prefix: 'monitor:logininfor', actions: ['list', 'export'] }),
  ...group({ name: 'providers', prefix: 'system:provider', actions: crud }),
  ...group({
    name: 'models',
    prefix: 'system:model',
    actions: crud,
    more: {
      test: 'Test the connection of a model',
      credential: 'Send the stored API key of a model to another address',
    },
  }),
  ...group({ name: 'chat sessions', prefix: 'system:session', actions: crud }),
  ...group({ name: 'chat messages', prefix: 'system:message', actions: crud }),
  ...group({ name: 'chat feedback', prefix: 'chat:feedback', actions: ['list', 'export'] }),
  ...group({ name: 'knowledge bases', prefix: 'system:info', actions: crud }),
  ...group({ name: 'attachments', prefix: 'system:attach', actions: crud }),
  ...group({ name: 'fragments', prefix: 'system:fragment', actions: crud }),
  ...group({ name: 'agents', prefix: 'agent:agent', actions: crud }),
  ...group({
    name: 'coding harness',
    prefix: 'coding:harness',
    actions: [],
    more: {
      use: 'Use the coding harness',
      write: 'Let it change files',
      approve: 'Decide its approvals',
    },
  }),
];

/**
 * Permissions that every signed-in user has and an API key only if it was chosen for it. They are permissions of keys
 * alone: roles have no use for them.
 */
export const keyPermissionCatalogue: readonly PermissionInfo[] = [
  ...group({
    name: 'chat',
    prefix: 'chat:chat',
    actions: [],
    more: { use: 'Send messages, stop answers and vote on them' },
  }),
  ...group({
    name: 'media',
    prefix: 'media:media',
    actions: [],
    more: { use: 'Make images, speech and video' },
  }),
];

const ofKeys = new Set(keyPermissionCatalogue.map(({ permission }) => permission));

/** Whether every user has it, and an API key only if it was chosen for it. */
export function isKeyPermission(permission: string): boolean {
  return ofKeys.has(permission);
}

const knownPermissions = new Set([
  ALL_PERMISSIONS,
  ...permissionCatalogue.map((info) => info.permission),
]);

export function isKnownPermission(permission: string): boolean {
  return knownPermissions.has(permission);
}

/** A wildcard for every action of one or several groups: `system:info:*`, `system:*:*`. */
const WILDCARD = /^([a-z]+(?::[a-z]+)?)(?::\*)+$/i;

/**
 * The permissions that an entry of a role grants: itself, or those of the catalogue that a wildcard covers. ALL_PERMISSIONS
 * grants itself alone, because only super administrators have it.
 */
export function permissionsOf(granted: string): readonly string[] {
  const prefix = WILDCARD.exec(granted)?.[1];
  if (prefix === undefined) return [granted];
  return permissionCatalogue
    .map(({ permission }) => permission)
    .filter((permission) => permission.startsWith(`${prefix}:`));
}

/** Whether a role can have it: a permission of the catalogue, or a wildcard that covers some. */
export function isAssignable(granted: string): boolean {
  if (granted === ALL_PERMISSIONS) return false;
  const permissions = permissionsOf(granted);
  return permissions.length > 0 && permissions.every(isKnownPermission);
}

/** The permissions of tenant administrators: all that do not concern the whole installation. */
export const tenantAdminPermissions: readonly string[] = permissionCatalogue
  .filter((info) => !info.installation)
  .map((info) => info.permission);

/**
 * The permissions of ordinary users: their own chat sessions and the files they send, shared knowledge bases and what
 * answers quote from them, the harness.
 */
export const userPermissions: readonly string[] = permissionCatalogue
  .map((info) => info.permission)
  .filter(
    (permission) =>
      permission.startsWith('system:session:') ||
      permission.startsWith('coding:harness:') ||
      [
        'system:message:list',
        'system:message:query',
        'system:message:remove',
        'system:message:export',
        'system:model:list',
        'system:model:export',
        'system:info:list',
        'system:info:query',
        'system:info:export',
        'system:attach:list',
        'system:attach:query',
        'system:attach:export',
        'system:fragment:list',
        'system:fragment:query',
        'system:fragment:export',
        'system:oss:upload',
      ].includes(permission),
  );
