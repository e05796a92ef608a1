import {
  BasedOnRevision,
  recordRevision,
  flag,
  Id,
  Ids,
  Input,
  integers,
  list,
  nullable,
  number,
  OneOf,
  oneOf,
  pageFields,
  sheetOf,
  Text,
  text,
  Texts,
  texts,
  time,
  TimeRangeField,
  View,
  Whole,
} from '../../platform/http/index.js';
import { DepartmentView } from './department.js';
import { SUPERADMIN_ROLE } from './role.entity.js';
import type { Role } from './role.entity.js';

const STATUS = ['0', '1'];
const SECOND_FACTOR = ['optional', 'required'];
const SECOND_FACTOR_MEANING =
  'required: users of the role need a second factor to sign in with a password';

export class RoleListQuery extends Input({
  ...pageFields('roleName', 'roleKey', 'roleSort', 'status', 'remark', 'createTime', {
    roleId: 'id',
  }),
  roleName: Text({ optional: true, description: 'Part of the name' }),
  roleKey: Text({ optional: true, description: 'Part of the key' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
  params: TimeRangeField(),
}) {}

export class RoleOptionQuery extends Input({
  roleIds: Ids({ optional: true, description: 'Default: all enabled roles' }),
}) {}

/** How the form of existing consoles names permissions. */
const MENU_IDS = Ids({
  optional: true,
  description: 'Entries of GET /system/menu/treeselect; take precedence over permissions',
});

export class NewRoleDto extends Input({
  roleName: Text({ max: 100, example: 'Editor' }),
  roleKey: Text({ max: 100, example: 'editor', description: 'Unique in the tenant' }),
  roleSort: Whole({ optional: true, min: 0, max: 1_000_000 }),
  status: OneOf(STATUS, { optional: true }),
  permissions: Texts({
    optional: true,
    max: 100,
    example: ['system:model:list'],
    description: 'Of GET /system/permission/list; system:info:* stands for all that begin so',
  }),
  menuIds: MENU_IDS,
  secondFactor: OneOf(SECOND_FACTOR, { optional: true, description: SECOND_FACTOR_MEANING }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class ChangedRoleDto extends Input({
  roleId: Id(),
  revision: BasedOnRevision(),
  roleName: Text({ optional: true, min: 1, max: 100 }),
  roleKey: Text({ optional: true, min: 1, max: 100, description: 'Unique in the tenant' }),
  roleSort: Whole({ optional: true, min: 0, max: 1_000_000 }),
  status: OneOf(STATUS, { optional: true }),
  permissions: Texts({ optional: true, max: 100, description: 'Default: they stay as they are' }),
  menuIds: MENU_IDS,
  secondFactor: OneOf(SECOND_FACTOR, { optional: true, description: SECOND_FACTOR_MEANING }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class RoleStatusDto extends Input({
  roleId: Id(),
  status: OneOf(STATUS),
}) {}

export class RoleDataScopeDto extends Input({
  roleId: Id(),
  dataScope: OneOf(['1', '2', '3', '4', '5', '6'], {
    description: 'Only 1, all data, is possible: what a role may see follows from its permissions',
  }),
}) {}

/** The departments of a data scope: only the one of this service, never chosen. */
export class RoleDepartmentsView extends View({
  checkedKeys: integers(),
  depts: list(DepartmentView),
}) {}

export class RoleView extends View({
  roleId: number({ example: 2 }),
  roleName: text({ example: 'Administrator' }),
  roleKey: text({ example: 'admin' }),
  roleSort: number({ example: 1 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  permissions: texts({ example: ['system:model:list'] }),
  secondFactor: oneOf(SECOND_FACTOR, { description: SECOND_FACTOR_MEANING }),
  dataScope: text({ example: '1', description: 'Always 1, all data; existing consoles read it' }),
  menuCheckStrictly: flag({ example: true, description: 'Always true' }),
  deptCheckStrictly: flag({ example: true, description: 'Always true' }),
  remark: nullable(text()),
  revision: recordRevision(),
  createTime: time(),
  flag: flag({ description: 'Whether the user has the role' }),
  superAdmin: flag({ description: 'Whether this is the role of super administrators' }),
}) {}

export const roleSheet = sheetOf<RoleView>('Roles', {
  roleId: 'Id',
  roleName: 'Name',
  roleKey: 'Key',
  roleSort: 'Order',
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  permissions: 'Permissions',
  secondFactor: ['Second factor', { optional: 'Optional', required: 'Required' }],
  remark: 'Remark',
  createTime: 'Created',
});

const FIXED = { dataScope: '1', menuCheckStrictly: true, deptCheckStrictly: true };

export function toRoleView(role: Role, isAssigned = false): RoleView {
  const superAdmin = role.roleKey === SUPERADMIN_ROLE;
  return RoleView.of(role, { ...FIXED, roleId: role.id, flag: isAssigned, superAdmin });
}
