import {
  Id,
  Ids,
  OneOf,
  PageQuery,
  Text,
  TimeRange,
  TimeRangeField,
} from '../../platform/http/index.js';

/** A user name contains no white space, so that no two look alike. */
const NAME = { min: 2, max: 64, pattern: /^\S+$/, patternMessage: 'must not contain spaces' };
const PASSWORD = { min: 5, max: 72 };
const STATUS = ['0', '1'];
const SEX = ['0', '1', '2'];

export class UserListQuery extends PageQuery {
  @Text({ optional: true, description: 'Part of the name' })
  userName?: string;

  @Text({ optional: true, description: 'Part of the name' })
  nickName?: string;

  @Text({ optional: true, description: 'Part of the number' })
  phonenumber?: string;

  @Text({ optional: true, description: '0 enabled, 1 disabled' })
  status?: string;

  @TimeRangeField()
  params?: TimeRange;
}

export class UserOptionQuery {
  @Ids({ optional: true, description: 'Default: all users' })
  userIds?: number[];
}

/** The optional fields of a user. */
class UserDto {
  @Text({ optional: true, max: 100 })
  email?: string;

  @Text({ optional: true, max: 20 })
  phonenumber?: string;

  @OneOf(SEX, { optional: true })
  sex?: string;

  @OneOf(STATUS, { optional: true })
  status?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class NewUserDto extends UserDto {
  @Text({ ...NAME, example: 'jo' })
  userName: string;

  @Text({ optional: true, max: 64, description: 'Default: the user name' })
  nickName?: string;

  @Text(PASSWORD)
  password: string;

  @Ids({ optional: true })
  roleIds?: number[];
}

export class ChangedUserDto extends UserDto {
  @Id()
  userId: number;

  @Text({ ...NAME, optional: true })
  userName?: string;

  @Text({ optional: true, min: 1, max: 64 })
  nickName?: string;

  @Ids({ optional: true, description: 'Default: the roles stay as they are' })
  roleIds?: number[];
}

export class UserStatusDto {
  @Id()
  userId: number;

  @OneOf(STATUS)
  status: string;
}

export class ResetPasswordDto {
  @Id()
  userId: number;

  @Text(PASSWORD)
  password: string;
}

export class UserRolesQuery {
  @Id()
  userId: number;

  @Ids({ optional: true, description: 'Comma-separated; empty removes all roles' })
  roleIds?: number[];
}

export class ProfileDto {
  @Text({ optional: true, min: 1, max: 64 })
  nickName?: string;

  @Text({ optional: true, max: 100 })
  email?: string;

  @Text({ optional: true, max: 20 })
  phonenumber?: string;

  @OneOf(SEX, { optional: true })
  sex?: string;
}

export class OwnPasswordDto {
  @Text({ max: 200 })
  oldPassword: string;

  @Text(PASSWORD)
  newPassword: string;
}

export class RoleMemberQuery extends PageQuery {
  @Id()
  roleId: number;

  @Text({ optional: true, description: 'Part of the name' })
  userName?: string;

  @Text({ optional: true, description: 'Part of the number' })
  phonenumber?: string;
}

export class RoleMemberDto {
  @Id()
  roleId: number;

  @Id()
  userId: number;
}

export class RoleMembersQuery {
  @Id()
  roleId: number;

  @Ids({ description: 'Comma-separated' })
  userIds: number[];
}
