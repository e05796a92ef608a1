import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import { SUPERADMIN_ROLE } from './role.entity.js';
import type { Role } from './role.entity.js';

export class RoleView {
  @ApiProperty({ example: 2 })
  roleId: number;

  @ApiProperty({ example: 'Administrator' })
  roleName: string;

  @ApiProperty({ example: 'admin' })
  roleKey: string;

  @ApiProperty({ example: 1 })
  roleSort: number;

  @ApiProperty({ enum: ['0', '1'], description: '0 enabled, 1 disabled' })
  status: string;

  @ApiProperty({ type: [String], example: ['system:model:list'] })
  permissions: string[];

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ description: 'Whether the user has the role' })
  flag: boolean;

  @ApiProperty({ description: 'Whether this is the role of super administrators' })
  superAdmin: boolean;
}

export function toRoleView(role: Role, flag = false): RoleView {
  return {
    roleId: role.id,
    roleName: role.roleName,
    roleKey: role.roleKey,
    roleSort: role.roleSort,
    status: role.status,
    permissions: role.permissions,
    remark: role.remark,
    createTime: wireTime(role.createTime),
    flag,
    superAdmin: role.roleKey === SUPERADMIN_ROLE,
  };
}
