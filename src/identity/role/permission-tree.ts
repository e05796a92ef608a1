import { createHash } from 'node:crypto';
import { ApiProperty } from '@nestjs/swagger';
import { ALL_PERMISSIONS, isOffered, permissionCatalogue } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { integer, integers, list, text, View } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';

// The role form of existing consoles chooses permissions from a tree whose entries have numbers.

export class PermissionNodeView extends View({
  id: integer({ example: 139_465_280_123_456 }),
  parentId: integer({ example: 0 }),
  label: text({ example: 'See the list: models' }),
  weight: integer({ example: 1, description: 'Position among its siblings' }),
  menuType: text({ example: 'F', description: 'C for a group, F for a permission' }),
  icon: text({ example: '#' }),
  perms: text({ example: 'system:model:list', description: 'Empty for a group' }),
}) {
  @ApiProperty({ type: () => [PermissionNodeView] })
  children: PermissionNodeView[];
}

export class RolePermissionsView extends View({
  checkedKeys: integers({ description: 'The entries that the role has' }),
  menus: list(PermissionNodeView),
}) {}

/** A number that only depends on the name, so that a form survives a release; 48 bits of a hash. */
function numberOf(name: string): number {
  return createHash('sha256').update(name).digest().readUIntBE(0, 6);
}

const GROUPS = [...new Set(permissionCatalogue.map(({ group }) => group))];
const groupNumbers = new Set(GROUPS.map((group) => numberOf(`group ${group}`)));
const permissionNumbers: ReadonlyMap<number, string> = new Map(
  permissionCatalogue.map(({ permission }) => [numberOf(permission), permission]),
);

/** The groups of permissions with those that the caller can assign, and those in `assignedPermissions`. */
export function permissionTree(
  caller: Caller,
  assignedPermissions: readonly string[] = [],
): PermissionNodeView[] {
  return GROUPS.flatMap((group, weight): PermissionNodeView[] => {
    const groupPermissions = permissionCatalogue.filter(
      (info) =>
        info.group === group &&
        (isOffered(caller, info) || assignedPermissions.includes(info.permission)),
    );
    if (groupPermissions.length === 0) return [];
    const id = numberOf(`group ${group}`);
    const label = group.charAt(0).toUpperCase() + group.slice(1);
    const children = groupPermissions.map((info, index) =>
      nodeOf({
        id: numberOf(info.permission),
        parentId: id,
        label: info.description,
        weight: index,
        menuType: 'F',
        perms: info.permission,
      }),
    );
    return [nodeOf({ id, label, weight, menuType: 'C', children })];
  });
}

/** The numbers of the permissions and of the groups that have one of them. */
export function checkedNumbers(permissions: readonly string[]): number[] {
  const all = permissions.includes(ALL_PERMISSIONS);
  const checkedPermissions = permissionCatalogue.filter(
    ({ permission, superAdminOnly }) =>
      (all && !superAdminOnly) || permissions.includes(permission),
  );
  const groups = new Set(checkedPermissions.map(({ group }) => numberOf(`group ${group}`)));
  return [...groups, ...checkedPermissions.map(({ permission }) => numberOf(permission))];
}

/** The permissions among the entries; InvalidInputError for a number that names no entry. */
export function permissionsWithNumbers(numbers: readonly number[]): string[] {
  return numbers.flatMap((number) => {
    const permission = permissionNumbers.get(number);
    if (permission !== undefined) return [permission];
    if (groupNumbers.has(number)) return [];
    throw new InvalidInputError(
      msg`menuIds: ${number} is not an entry of the tree. Load GET /system/menu/treeselect again.`,
    );
  });
}

function nodeOf(node: Partial<PermissionNodeView>): PermissionNodeView {
  return {
    id: 0,
    parentId: 0,
    label: '',
    weight: 0,
    menuType: '',
    icon: '#',
    perms: '',
    children: [],
    ...node,
  };
}
