import {
  BasedOnRevision,
  Id,
  Ids,
  Input,
  integer,
  nullable,
  oneOf,
  OneOf,
  pageFields,
  recordRevision,
  Text,
  text,
  time,
  TimeRangeField,
  View,
} from '../../platform/http/index.js';
import { GROUP_SOURCES } from './group.entity.js';

const SOURCES = 'local: changed here; scim: by a directory; sso: by the claims of sign-ins';

export class GroupListQuery extends Input({
  ...pageFields('displayName', 'source', 'externalId', 'remark', 'createTime', 'updateTime', {
    groupId: 'id',
  }),
  displayName: Text({ optional: true, max: 255, description: 'Part of the name' }),
  source: OneOf(GROUP_SOURCES, { optional: true, description: SOURCES }),
  userId: Id({ optional: true, description: 'Groups that this user is in, also by other groups' }),
  params: TimeRangeField(),
}) {}

const { pageNum, pageSize } = pageFields();

export class GroupMemberListQuery extends Input({
  pageNum,
  pageSize,
  groupId: Id(),
  keyword: Text({
    optional: true,
    max: 100,
    description: 'Part of the name of a group, or of the user name or display name of a user',
  }),
}) {}

export class NewGroupDto extends Input({
  displayName: Text({ max: 255, example: 'Legal', description: 'Unique among local groups' }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class ChangedGroupDto extends Input({
  groupId: Id(),
  revision: BasedOnRevision(),
  displayName: Text({ optional: true, min: 1, max: 255, description: 'Unique among local groups' }),
  remark: Text({ optional: true, clearable: true, max: 500 }),
}) {}

export class GroupMembersDto extends Input({
  groupId: Id(),
  addedUserIds: Ids({ optional: true }),
  removedUserIds: Ids({ optional: true }),
  addedGroupIds: Ids({
    optional: true,
    description: 'Groups of any source, whose users become users of this group',
  }),
  removedGroupIds: Ids({ optional: true }),
}) {}

export class GroupView extends View({
  groupId: integer({ example: 9 }),
  displayName: text({ example: 'Legal' }),
  source: oneOf([...GROUP_SOURCES], { description: SOURCES }),
  providerName: nullable(text({ description: 'The provider of a group of source sso' })),
  externalId: nullable(text({ description: 'The id in the directory, or the value of the claim' })),
  remark: nullable(text()),
  userCount: integer({ example: 12, description: 'Users that are members themselves' }),
  groupCount: integer({ example: 1, description: 'Groups that are members' }),
  allUserCount: integer({ example: 40, description: 'Users with those of the groups in it' }),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {}

export class GroupMemberView extends View({
  type: oneOf(['user', 'group']),
  id: integer({ example: 7 }),
  name: text({ example: 'jo', description: 'The user name, or the name of the group' }),
  nickName: nullable(text({ example: 'Jo', description: 'The display name of a user' })),
  source: nullable(oneOf([...GROUP_SOURCES], { description: 'The source of a group' })),
}) {}
