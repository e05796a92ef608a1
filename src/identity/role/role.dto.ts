import {
  flag,
  Id,
  Ids,
  Input,
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
  View,
  Whole,
} from '../../platform/http/index.js';
import { SUPERADMIN_ROLE } from './role.entity.js';
import type { Role } from './role.entity.js';

const STATUS = ['0', '1'];

export class RoleListQuery extends Input({
  ...pageFields('roleName', 'roleKey', 'roleSort', 'status', 'remark', 'createTime', {
    roleId: 'id',
  }),
  roleName: Text({ optional: true, description: 'Part of the name' }),
  roleKey: Text({ optional: true, description: 'Part of the key' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
}) {}

export class RoleOptionQuery extends Input({
  roleIds: Ids({ optional: true, description: 'Default: all enabled roles' }),
}) {}

export class NewRoleDto extends Input({
  roleName: Text({ max: 100, example: 'Editor' }),
  roleKey: Text({ max: 100, example: 'editor', description: 'Unique in the tenant' }),
  roleSort: Whole({ optional: true, min: 0, max: 1_000_000 }),
  status: OneOf(STATUS, { optional: true }),
  permissions: Texts({ optional: true, max: 100, example: ['system:model:list'] }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class ChangedRoleDto extends Input({
  roleId: Id(),
  roleName: Text({ optional: true, min: 1, max: 100 }),
  roleKey: Text({ optional: true, min: 1, max: 100, description: 'Unique in the tenant' }),
  roleSort: Whole({ optional: true, min: 0, max: 1_000_000 }),
  status: OneOf(STATUS, { optional: true }),
  permissions: Texts({ optional: true, max: 100, description: 'Default: they stay as they are' }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class RoleStatusDto extends Input({
  roleId: Id(),
  status: OneOf(STATUS),
}) {}

export class RoleView extends View({
  roleId: number({ example: 2 }),
  roleName: text({ example: 'Administrator' }),
  roleKey: text({ example: 'admin' }),
  roleSort: number({ example: 1 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  permissions: texts({ example: ['system:model:list'] }),
  remark: nullable(text()),
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
  remark: 'Remark',
  createTime: 'Created',
});

export function toRoleView(role: Role, isHeld = false): RoleView {
  const superAdmin = role.roleKey === SUPERADMIN_ROLE;
  return RoleView.of(role, { roleId: role.id, flag: isHeld, superAdmin });
}
