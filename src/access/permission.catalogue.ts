/** The one permission that stands for all: super administrators hold it, and it passes every check. */
export const ALL_PERMISSIONS = '*:*:*';

export interface PermissionInfo {
  readonly permission: string;
  readonly group: string;
  readonly description: string;
  /** Concerns the whole installation: only a super administrator can give it to a role. */
  readonly installation: boolean;
}

const verbs: Readonly<Record<string, string>> = {
  list: 'See the list',
  query: 'See one',
  add: 'Create',
  edit: 'Change',
  remove: 'Delete',
};
const crud = ['list', 'query', 'add', 'edit', 'remove'];

function group(
  name: string,
  prefix: string,
  actions: readonly string[],
  more: Readonly<Record<string, string>> = {},
  installation = false,
): PermissionInfo[] {
  return [
    ...actions.map((action): [string, string] => [action, `${verbs[action] ?? action}: ${name}`]),
    ...Object.entries(more),
  ].map(([action, description]) => ({
    permission: `${prefix}:${action}`,
    group: name,
    description,
    installation,
  }));
}

/** Every permission there is. Role editors read it from GET /system/permission/list; routes may require no other. */
export const permissionCatalogue: readonly PermissionInfo[] = [
  ...group('tenants', 'system:tenant', crud, {}, true),
  ...group('clients', 'system:client', crud, {}, true),
  ...group('users', 'system:user', crud, { resetPwd: 'Set the password of another user' }),
  ...group('roles', 'system:role', crud),
  ...group('dictionary', 'system:dict', crud),
  ...group('files', 'system:oss', ['list', 'query', 'remove'], {
    upload: 'Upload files',
    download: 'Download files',
  }),
  ...group('sign-ins', 'monitor:online', ['list'], { forceLogout: 'End the sign-in of another user' }),
  ...group('audit log', 'monitor:audit', ['list']),
  ...group('providers', 'system:provider', crud),
  ...group('models', 'system:model', crud, { test: 'Test the connection of a model' }),
  ...group('chat sessions', 'system:session', crud),
  ...group('chat messages', 'system:message', crud),
  ...group('knowledge bases', 'system:info', crud),
  ...group('attachments', 'system:attach', crud),
  ...group('fragments', 'system:fragment', crud),
  ...group('agents', 'agent:agent', crud),
  ...group('coding harness', 'coding:harness', [], {
    use: 'Use the coding harness',
    write: 'Let it change files',
    approve: 'Decide its approvals',
  }),
];

const known = new Set([ALL_PERMISSIONS, ...permissionCatalogue.map((info) => info.permission)]);

export function isKnownPermission(permission: string): boolean {
  return known.has(permission);
}

/** What a tenant's own administrator may do: everything that does not concern the whole installation. */
export const tenantAdminPermissions: readonly string[] = permissionCatalogue
  .filter((info) => !info.installation)
  .map((info) => info.permission);

/** What an ordinary user may do: chat with own sessions, media, read knowledge bases that are shared, the harness. */
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
        'system:model:list',
        'system:info:list',
        'system:info:query',
      ].includes(permission),
  );
