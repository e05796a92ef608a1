import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  recordRevision,
  integer,
  list,
  nullable,
  number,
  numbers,
  object,
  oneOf,
  schema,
  sheetOf,
  text,
  texts,
  time,
  View,
} from '../../platform/http/index.js';
import { DEPARTMENT_ID, DEPARTMENT_NAME } from '../role/department.js';
import type { Role } from '../role/role.entity.js';
import { RoleView, toRoleView } from '../role/role.dto.js';
import type { AvatarAddress } from './avatars.js';
import type { User } from './user.entity.js';

/** A user. Existing consoles read the fields that are always null or 0. */
export class UserView extends View({
  userId: number({ example: 1 }),
  tenantId: text({ example: '000000' }),
  openId: nullable(text()),
  userBalance: number({ example: 0 }),
  deptId: integer({ example: DEPARTMENT_ID, description: 'Always the one department' }),
  userName: text({ example: 'jo' }),
  nickName: text({ example: 'Jo' }),
  userType: text({ example: 'sys_user' }),
  email: text({ example: '', description: 'Empty if there is none' }),
  phonenumber: text({
    example: '',
    description: 'Empty if there is none; masked for callers who may not change users',
  }),
  sex: oneOf(['0', '1', '2'], { description: '0 male, 1 female, 2 not specified' }),
  avatar: nullable(
    text({
      example: 'https://ai.example.com/resource/oss/shared/000000.1.0.c2lnbmF0dXJl/avatar.png',
      description: 'Opens the image without a sign-in and does not expire',
    }),
  ),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  loginIp: nullable(text()),
  loginDate: nullable(time()),
  remark: nullable(text()),
  revision: recordRevision(),
  createTime: time(),
  deptName: text({ example: DEPARTMENT_NAME }),
  roles: list(RoleView),
  roleIds: nullable(numbers()),
  postIds: nullable(numbers()),
  roleId: nullable(integer()),
}) {}

export const userSheet = sheetOf<UserView>('Users', {
  userId: 'Id',
  userName: 'User name',
  nickName: 'Display name',
  email: 'E-mail',
  phonenumber: 'Telephone',
  roles: ['Roles', (roles) => roles.map(({ roleName }) => roleName).join(', ')],
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  loginIp: 'Last address',
  loginDate: 'Last sign-in',
  remark: 'Remark',
  createTime: 'Created',
});

export class UserDetailView extends View({
  user: nullable(object(UserView, { description: 'null in the form for a new user' })),
  roleIds: nullable(numbers()),
  roles: list(RoleView, { description: 'The roles that the caller can assign' }),
  postIds: nullable(numbers()),
  posts: schema<never[]>({ type: [Object] }),
}) {}

export class UserRolesView extends View({
  user: object(UserView),
  roles: list(RoleView, { description: 'All roles; `flag` marks those of the user' }),
}) {}

export class UserInfoView extends View({
  user: object(UserView),
  permissions: texts({ example: ['*:*:*'] }),
  roles: texts({ example: ['superadmin'] }),
  tenantId: text({ example: '000000', description: 'The tenant that this sign-in works in' }),
  timeZone: text({ example: 'UTC', description: 'TZ: the zone of all times and days' }),
}) {}

export class ProfileView extends View({
  user: object(UserView),
  roleGroup: text({ description: 'Names of the roles', example: 'Administrator' }),
  postGroup: text({ example: '' }),
}) {}

/** The user as the caller may see them: callers who may not change users see a masked telephone number. */
export function viewFor(
  caller: Caller,
  user: User,
  roles: readonly Role[],
  avatarOf: AvatarAddress,
): UserView {
  return toUserView(user, roles, maySeePhone(caller) ? 'shown' : 'masked', avatarOf);
}

export function maySeePhone(caller: Caller): boolean {
  return mayAny(caller, ['system:user:edit']);
}

export function toUserView(
  user: User,
  roles: readonly Role[],
  phone: 'shown' | 'masked',
  avatarOf: AvatarAddress,
): UserView {
  return UserView.of(user, {
    ...UNUSED,
    userId: user.id,
    // The form of existing consoles refuses null.
    email: user.email ?? '',
    phonenumber: phone === 'shown' ? (user.phonenumber ?? '') : masked(user.phonenumber ?? ''),
    avatar: avatarOf(user),
    roles: roles.map((role) => toRoleView(role)),
  });
}

const UNUSED = {
  openId: null,
  userBalance: 0,
  deptId: DEPARTMENT_ID,
  deptName: DEPARTMENT_NAME,
  roleIds: null,
  postIds: null,
  roleId: null,
};

function masked(phone: string): string {
  if (phone === '') return phone;
  return phone.length < 8 ? '****' : `${phone.slice(0, 3)}****${phone.slice(-4)}`;
}

export class AvatarView extends View({
  imgUrl: text({
    example: 'https://ai.example.com/resource/oss/shared/000000.1.0.c2lnbmF0dXJl/avatar.png',
  }),
}) {}

/** A row that is not imported, with the reason as text. */
export class RefusedRow extends View({
  row: integer({ example: 2, description: 'Its number in the workbook; the headers are row 1' }),
  reason: text({ example: 'The user name is missing.' }),
}) {}

/** `data` of a refused import. */
export class RefusedRowsView extends View({ rows: list(RefusedRow) }) {}
