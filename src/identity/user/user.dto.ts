import {
  BasedOnRevision,
  Flag,
  Id,
  Ids,
  Input,
  OneOf,
  pageFields,
  Text,
  TimeRangeField,
} from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';

/** A user name contains no white space, so that no two look alike. */
export const USER_NAME = {
  min: 2,
  max: 64,
  pattern: /^\S+$/,
  patternMessage: msg`must not contain spaces`,
};
const PASSWORD = { min: 5, max: 72 };
const STATUS = ['0', '1'];
const SEX = ['0', '1', '2'];

/** Filters and orders by phonenumber need the permission that shows it (UserService). */
const userPage = pageFields(
  'userName',
  'nickName',
  'userType',
  'email',
  'phonenumber',
  'sex',
  'status',
  'loginIp',
  'loginDate',
  'remark',
  'createTime',
  { userId: 'id' },
);

export class UserListQuery extends Input({
  ...userPage,
  userName: Text({ optional: true, description: 'Part of the name' }),
  nickName: Text({ optional: true, description: 'Part of the name' }),
  keyword: Text({
    optional: true,
    max: 100,
    description: 'Part of the user name, the display name or the e-mail address',
  }),
  phonenumber: Text({ optional: true, description: 'Part of the number' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
  roleId: Id({ optional: true, description: 'Users that have this role' }),
  params: TimeRangeField(),
}) {}

export class UserOptionQuery extends Input({
  userIds: Ids({ optional: true, description: 'Default: all users' }),
}) {}

/** The optional fields of a user. */
const userFields = {
  email: Text({ optional: true, max: 100 }),
  phonenumber: Text({ optional: true, max: 20 }),
  sex: OneOf(SEX, { optional: true }),
  status: OneOf(STATUS, { optional: true }),
  remark: Text({ optional: true, max: 500 }),
};

export class NewUserDto extends Input({
  ...userFields,
  userName: Text({ ...USER_NAME, example: 'jo' }),
  nickName: Text({ optional: true, max: 64, description: 'Default: the user name' }),
  password: Text(PASSWORD),
  roleIds: Ids({ optional: true }),
}) {}

export class NewServiceAccountDto extends Input({
  userName: Text({ ...USER_NAME, example: 'reports' }),
  nickName: Text({ optional: true, max: 64, description: 'Default: the user name' }),
  remark: Text({ optional: true, max: 500 }),
  roleIds: Ids({ optional: true }),
}) {}

export class ChangedUserDto extends Input({
  ...userFields,
  userId: Id(),
  revision: BasedOnRevision(),
  userName: Text({ ...USER_NAME, optional: true }),
  nickName: Text({ optional: true, min: 1, max: 64 }),
  roleIds: Ids({ optional: true, description: 'Default: the roles stay as they are' }),
}) {}

export class UserStatusDto extends Input({
  userId: Id(),
  status: OneOf(STATUS),
}) {}

export class UserImportBody extends Input({
  updateSupport: Flag({ optional: true, description: 'Change users who exist already' }),
}) {}

export class ResetPasswordDto extends Input({
  userId: Id(),
  password: Text(PASSWORD),
}) {}

export class UserRolesQuery extends Input({
  userId: Id(),
  roleIds: Ids({ optional: true, description: 'Comma-separated; empty removes all roles' }),
}) {}

export class ProfileDto extends Input({
  nickName: Text({ optional: true, min: 1, max: 64 }),
  email: Text({ optional: true, max: 100 }),
  phonenumber: Text({ optional: true, max: 20 }),
  sex: OneOf(SEX, { optional: true }),
}) {}

export class OwnInfoQuery extends Input({
  keepTenant: Flag({
    optional: true,
    description: 'A switch to another tenant stays; without it, it ends',
  }),
}) {}

export class OwnPasswordDto extends Input({
  oldPassword: Text({ max: 200 }),
  newPassword: Text(PASSWORD),
}) {}

export class RoleMemberQuery extends Input({
  ...userPage,
  roleId: Id(),
  userName: Text({ optional: true, description: 'Part of the name' }),
  phonenumber: Text({ optional: true, description: 'Part of the number' }),
}) {}

export class RoleMemberDto extends Input({
  roleId: Id(),
  userId: Id(),
}) {}

export class RoleMembersQuery extends Input({
  roleId: Id(),
  userIds: Ids({ description: 'Comma-separated' }),
}) {}
