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
  /** Paths whose routes may require any permission of the group. */
  readonly paths: readonly string[];
  /** Further paths, each with the actions of the group that its routes may require. */
  readonly pathsOfActions?: Readonly<Record<string, readonly string[]>>;
}

function permissionsOfGroup({
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

/** A route may require only the permissions of its path (test/architecture/routes.spec.ts). */
const groups: readonly Group[] = [
  {
    name: 'tenants',
    prefix: 'system:tenant',
    paths: ['/system/tenant'],
    actions: crud,
    installation: true,
    superAdminOnly: true,
  },
  {
    name: 'clients',
    prefix: 'system:client',
    paths: ['/system/client'],
    actions: crud,
    installation: true,
  },
  {
    name: 'users',
    prefix: 'system:user',
    paths: ['/system/user', '/system/post'],
    actions: crud,
    more: {
      resetPwd: 'Set the password of another user',
      import: 'Create and change users from a workbook',
    },
  },
  {
    name: 'roles',
    prefix: 'system:role',
    paths: ['/system/role', '/system/permission', '/system/menu'],
    actions: crud,
  },
  {
    name: 'groups',
    prefix: 'system:group',
    paths: ['/system/group'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
  },
  {
    name: 'API keys',
    prefix: 'system:apikey',
    paths: ['/system/apikey', '/oauth/consent'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
    more: { others: 'Manage the API keys of other users and of service accounts' },
  },
  {
    name: 'single sign-on',
    prefix: 'system:sso',
    paths: ['/system/sso'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
    more: { test: 'Test the connection to a provider of sign-ins' },
  },
  {
    name: 'provisioning',
    prefix: 'system:scim',
    paths: ['/scim/v2'],
    actions: [],
    more: { provision: 'Create and change users and groups by SCIM' },
  },
  {
    name: 'access',
    prefix: 'access',
    paths: ['/access'],
    actions: [],
    more: {
      grant: 'Grant the records that one manages to others',
      publish: 'Grant them to every user of the tenant',
      administer:
        'See names, owners and grants of all records, not their contents, and change the grants',
    },
  },
  { name: 'dictionary', prefix: 'system:dict', paths: ['/system/dict'], actions: crud },
  {
    name: 'files',
    prefix: 'system:oss',
    paths: ['/resource/oss'],
    actions: ['list', 'query', 'remove'],
    more: { upload: 'Upload files', download: 'Download files' },
  },
  {
    name: 'sign-ins',
    prefix: 'monitor:online',
    paths: ['/monitor/online'],
    actions: ['list'],
    more: { forceLogout: 'End the sign-in of another user' },
  },
  {
    name: 'use of models',
    prefix: 'monitor:use',
    paths: ['/monitor/use'],
    actions: [],
    more: { query: 'See turns, tokens, times and failures of the chat' },
  },
  {
    name: 'costs',
    prefix: 'monitor:usage',
    paths: ['/monitor/usage'],
    actions: ['export'],
    more: { query: 'See the calls, tokens and costs of every user' },
  },
  {
    name: 'limits',
    prefix: 'system:limit',
    paths: ['/system/limit'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
  },
  {
    name: 'retention',
    prefix: 'system:retention',
    paths: ['/system/retention'],
    actions: ['list', 'edit'],
    more: { hold: 'Place users under legal hold, and lift it' },
  },
  {
    name: 'audit log',
    prefix: 'monitor:audit',
    paths: ['/monitor/audit'],
    actions: ['list', 'export'],
  },
  {
    name: 'operation log',
    prefix: 'monitor:operlog',
    paths: ['/monitor/operlog'],
    actions: ['list', 'export'],
  },
  {
    name: 'sign-in log',
    prefix: 'monitor:logininfor',
    paths: ['/monitor/logininfor'],
    actions: ['list', 'export'],
  },
  {
    name: 'search providers',
    prefix: 'system:search',
    paths: ['/system/search'],
    actions: ['list', 'add', 'edit', 'remove'],
    more: { test: 'Search with a provider to test it' },
  },
  { name: 'providers', prefix: 'system:provider', paths: ['/system/provider'], actions: crud },
  {
    name: 'models',
    prefix: 'system:model',
    paths: ['/system/model'],
    actions: crud,
    more: {
      test: 'Test the connection of a model',
      credential: 'Send the stored API key of a model to another address',
    },
  },
  { name: 'chat sessions', prefix: 'system:session', paths: ['/system/session'], actions: crud },
  { name: 'chat messages', prefix: 'system:message', paths: ['/system/message'], actions: crud },
  {
    name: 'schedules',
    prefix: 'chat:schedule',
    paths: ['/schedule'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
  },
  {
    name: 'chat feedback',
    prefix: 'chat:feedback',
    paths: ['/chat/feedback'],
    actions: ['list', 'export'],
  },
  {
    name: 'knowledge bases',
    prefix: 'system:info',
    paths: ['/system/info'],
    // A question with negative feedback becomes a test query of a base.
    pathsOfActions: { '/chat/feedback': ['edit'] },
    actions: crud,
  },
  {
    name: 'attachments',
    prefix: 'system:attach',
    paths: ['/system/attach'],
    // Sources put and remove documents of a base.
    pathsOfActions: { '/system/info': ['list', 'edit', 'add', 'remove'] },
    actions: crud,
  },
  { name: 'fragments', prefix: 'system:fragment', paths: ['/system/fragment'], actions: crud },
  {
    name: 'agents',
    prefix: 'agent:agent',
    paths: ['/agent/agent'],
    pathsOfActions: { '/mcp/tool': ['list'] },
    actions: crud,
  },
  {
    name: 'tool servers',
    prefix: 'mcp:server',
    paths: ['/mcp/server'],
    actions: ['list', 'query', 'add', 'edit', 'remove'],
  },
  {
    name: 'coding harness',
    prefix: 'coding:harness',
    paths: [],
    pathsOfActions: { '/coding/harness': ['use', 'approve'], '/system/model': ['use'] },
    actions: [],
    more: {
      use: 'Use the coding harness',
      write: 'Let it change files',
      approve: 'Decide its approvals',
    },
  },
];

/** All permissions. Role editors read them from GET /system/permission/list; routes can require no others. */
export const permissionCatalogue: readonly PermissionInfo[] = groups.flatMap(permissionsOfGroup);

/** The permissions that routes of a path may require. */
export function permissionsAt(path: string): readonly string[] {
  const isAt = (start: string): boolean => `${path}/`.startsWith(`${start}/`);
  return groups.flatMap((group) => {
    const all = group.paths.some(isAt) ? permissionsOfGroup(group) : [];
    const some = Object.entries(group.pathsOfActions ?? {}).flatMap(([start, actions]) =>
      isAt(start) ? actions.map((action) => `${group.prefix}:${action}`) : [],
    );
    return [...all.map(({ permission }) => permission), ...some];
  });
}

/**
 * Permissions that every signed-in user has and an API key only if it was chosen for it. They are permissions of keys
 * alone: roles have no use for them.
 */
export const keyPermissionCatalogue: readonly PermissionInfo[] = [
  ...permissionsOfGroup({
    name: 'chat',
    prefix: 'chat:chat',
    paths: [],
    actions: [],
    more: { use: 'Send messages, stop answers and vote on them' },
  }),
  ...permissionsOfGroup({
    name: 'media',
    prefix: 'media:media',
    paths: [],
    actions: [],
    more: { use: 'Make images, speech and video' },
  }),
  ...permissionsOfGroup({
    name: 'tools',
    prefix: 'mcp:tool',
    paths: [],
    actions: [],
    more: { use: 'Call tools of the tool servers' },
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
