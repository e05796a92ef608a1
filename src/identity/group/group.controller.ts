import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answers,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import {
  ChangedGroupDto,
  GroupListQuery,
  GroupMemberListQuery,
  GroupMembersDto,
  GroupMemberView,
  GroupView,
  NewGroupDto,
} from './group.dto.js';
import { GroupService } from './group.service.js';

@ApiTags('groups')
@Controller('system/group')
export class GroupController {
  constructor(private readonly groups: GroupService) {}

  /** The groups of the tenant. */
  @Get('list')
  @RequirePermission('system:group:list')
  @AnswersPage(GroupView)
  list(@CurrentCaller() caller: Caller, @Query() query: GroupListQuery): Promise<Page<GroupView>> {
    return this.groups.list(caller, query);
  }

  /** The direct members of a group: groups first, then users. */
  @Get('member/list')
  @RequirePermission('system:group:query')
  @AnswersPage(GroupMemberView)
  members(
    @CurrentCaller() caller: Caller,
    @Query() query: GroupMemberListQuery,
  ): Promise<Page<GroupMemberView>> {
    return this.groups.members(caller, query);
  }

  /** One group. */
  @Get(':groupId')
  @RequirePermission('system:group:query')
  @Answers(GroupView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('groupId', IdPipe) groupId: number,
  ): Promise<GroupView> {
    return this.groups.get(caller, groupId);
  }

  /** Creates a local group without members and answers its id. */
  @Post()
  @RequirePermission('system:group:add')
  @AnswersId('integer')
  create(@CurrentCaller() caller: Caller, @Body() body: NewGroupDto): Promise<number> {
    return this.groups.create(caller, body);
  }

  /** Changes a local group. Absent fields keep their values. */
  @Put()
  @RequirePermission('system:group:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedGroupDto): Promise<void> {
    return this.groups.update(caller, body);
  }

  /** Adds and removes members of a local group. One that is there already, or is none, changes nothing. */
  @Put('member')
  @RequirePermission('system:group:edit')
  @AnswersStatus()
  changeMembers(@CurrentCaller() caller: Caller, @Body() body: GroupMembersDto): Promise<void> {
    return this.groups.changeMembers(caller, body);
  }

  /** Deletes local groups, and groups of sign-ins that no user has any more. Their members stay. */
  @Delete(':groupIds')
  @RequirePermission('system:group:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('groupIds', IdsPipe) groupIds: number[],
  ): Promise<void> {
    return this.groups.remove(caller, groupIds);
  }
}
