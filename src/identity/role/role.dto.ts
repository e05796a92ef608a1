import {
  flag,
  Id,
  Ids,
  nullable,
  number,
  OneOf,
  oneOf,
  PageQuery,
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

export class RoleListQuery extends PageQuery {
  @Text({ optional: true, description: 'Part of the name' })
  roleName?: string;

  @Text({ optional: true, description: 'Part of the key' })
  roleKey?: string;

  @Text({ optional: true, description: '0 enabled, 1 disabled' })
  status?: string;
}

export class RoleOptionQuery {
  @Ids({ optional: true, description: 'Default: all enabled roles' })
  roleIds?: number[];
}

export class NewRoleDto {
  @Text({ max: 100, example: 'Editor' })
  roleName: string;

  @Text({ max: 100, example: 'editor', description: 'Unique in the tenant' })
  roleKey: string;

  @Whole({ optional: true, min: 0, max: 1_000_000 })
  roleSort?: number;

  @OneOf(STATUS, { optional: true })
  status?: string;

  @Texts({ optional: true, max: 100, example: ['system:model:list'] })
  permissions?: string[];

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class ChangedRoleDto {
  @Id()
  roleId: number;

  @Text({ optional: true, min: 1, max: 100 })
  roleName?: string;

  @Text({ optional: true, min: 1, max: 100, description: 'Unique in the tenant' })
  roleKey?: string;

  @Whole({ optional: true, min: 0, max: 1_000_000 })
  roleSort?: number;

  @OneOf(STATUS, { optional: true })
  status?: string;

  @Texts({ optional: true, max: 100, description: 'Default: they stay as they are' })
  permissions?: string[];

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class RoleStatusDto {
  @Id()
  roleId: number;

  @OneOf(STATUS)
  status: string;
}

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

export function toRoleView(role: Role, isHeld = false): RoleView {
  const superAdmin = role.roleKey === SUPERADMIN_ROLE;
  return RoleView.of(role, { roleId: role.id, flag: isHeld, superAdmin });
}
