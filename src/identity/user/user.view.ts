import { ApiProperty } from '@nestjs/swagger';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { wireTime } from '../../platform/http/index.js';
import type { Role } from '../role/role.entity.js';
import { RoleView, toRoleView } from '../role/role.view.js';
import type { User } from './user.entity.js';

/** A user. Existing consoles read the fields that are always null or 0. */
export class UserView {
  @ApiProperty({ example: 1 })
  userId: number;

  @ApiProperty({ example: '000000' })
  tenantId: string;

  @ApiProperty({ type: String, nullable: true })
  openId: null;

  @ApiProperty({ example: 0 })
  userBalance: number;

  @ApiProperty({ type: 'integer', nullable: true })
  deptId: null;

  @ApiProperty({ example: 'jo' })
  userName: string;

  @ApiProperty({ example: 'Jo' })
  nickName: string;

  @ApiProperty({ example: 'sys_user' })
  userType: string;

  @ApiProperty({ type: String, nullable: true })
  email: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Masked for callers who may not change users',
  })
  phonenumber: string | null;

  @ApiProperty({ enum: ['0', '1', '2'], description: '0 male, 1 female, 2 not specified' })
  sex: string;

  @ApiProperty({ type: String, nullable: true, description: 'Address of the avatar image' })
  avatar: string | null;

  @ApiProperty({ enum: ['0', '1'], description: '0 enabled, 1 disabled' })
  status: string;

  @ApiProperty({ type: String, nullable: true })
  loginIp: string | null;

  @ApiProperty({ type: String, nullable: true, example: '2026-01-31 18:30:00' })
  loginDate: string | null;

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ type: String, nullable: true })
  deptName: null;

  @ApiProperty({ type: [RoleView] })
  roles: RoleView[];

  @ApiProperty({ type: [Number], nullable: true })
  roleIds: null;

  @ApiProperty({ type: [Number], nullable: true })
  postIds: null;

  @ApiProperty({ type: 'integer', nullable: true })
  roleId: null;
}

export class UserDetailView {
  @ApiProperty({ type: UserView, nullable: true, description: 'null in the form for a new user' })
  user: UserView | null;

  @ApiProperty({ type: [Number], nullable: true })
  roleIds: number[] | null;

  @ApiProperty({ type: [RoleView], description: 'The roles that the caller can assign' })
  roles: RoleView[];

  @ApiProperty({ type: [Number], nullable: true })
  postIds: null;

  @ApiProperty({ type: [Object] })
  posts: never[];
}

export class UserRolesView {
  @ApiProperty({ type: UserView })
  user: UserView;

  @ApiProperty({ type: [RoleView], description: 'All roles; `flag` marks those of the user' })
  roles: RoleView[];
}

export class UserInfoView {
  @ApiProperty({ type: UserView })
  user: UserView;

  @ApiProperty({ type: [String], example: ['*:*:*'] })
  permissions: string[];

  @ApiProperty({ type: [String], example: ['superadmin'] })
  roles: string[];
}

export class ProfileView {
  @ApiProperty({ type: UserView })
  user: UserView;

  @ApiProperty({ description: 'Names of the roles', example: 'Administrator' })
  roleGroup: string;

  @ApiProperty({ example: '' })
  postGroup: string;
}

/** As the caller may see the user: callers who may not change users see a masked telephone number. */
export function viewFor(caller: Caller, user: User, roles: readonly Role[]): UserView {
  return toUserView(user, roles, mayAny(caller, ['system:user:edit']) ? 'shown' : 'masked');
}

export function toUserView(
  user: User,
  roles: readonly Role[],
  phone: 'shown' | 'masked',
): UserView {
  return {
    userId: user.id,
    tenantId: user.tenantId,
    openId: null,
    userBalance: 0,
    deptId: null,
    userName: user.userName,
    nickName: user.nickName,
    userType: user.userType,
    email: user.email,
    phonenumber: phone === 'shown' ? user.phonenumber : masked(user.phonenumber),
    sex: user.sex,
    avatar: user.avatar === null ? null : `/resource/oss/download/${user.avatar}`,
    status: user.status,
    loginIp: user.loginIp,
    loginDate: wireTime(user.loginDate),
    remark: user.remark,
    createTime: wireTime(user.createTime),
    deptName: null,
    roles: roles.map((role) => toRoleView(role)),
    roleIds: null,
    postIds: null,
    roleId: null,
  };
}

function masked(phone: string | null): string | null {
  if (!phone) return phone;
  return phone.length < 8 ? '****' : `${phone.slice(0, 3)}****${phone.slice(-4)}`;
}
