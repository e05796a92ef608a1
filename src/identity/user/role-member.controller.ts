import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersPage, AnswersStatus } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { RoleMemberDto, RoleMemberQuery, RoleMembersQuery } from './user.dto.js';
import { UserService } from './user.service.js';
import { UserView } from './user.view.js';

/** The users of a role. */
@ApiTags('roles')
@Controller('system/role/authUser')
export class RoleMemberController {
  constructor(private readonly users: UserService) {}

  /** The users that have the role. */
  @Get('allocatedList')
  @RequirePermission('system:role:list')
  @AnswersPage(UserView)
  list(@CurrentCaller() caller: Caller, @Query() query: RoleMemberQuery): Promise<Page<UserView>> {
    return this.users.members(caller, query, 'having');
  }

  /** The users that do not have the role. */
  @Get('unallocatedList')
  @RequirePermission('system:role:list')
  @AnswersPage(UserView)
  candidates(
    @CurrentCaller() caller: Caller,
    @Query() query: RoleMemberQuery,
  ): Promise<Page<UserView>> {
    return this.users.members(caller, query, 'lacking');
  }

  /** Removes the role from one user. */
  @Put('cancel')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Body() body: RoleMemberDto): Promise<void> {
    return this.users.removeMembers(caller, body.roleId, [body.userId]);
  }

  /** Removes the role from several users. */
  @Put('cancelAll')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  removeAll(@CurrentCaller() caller: Caller, @Query() query: RoleMembersQuery): Promise<void> {
    return this.users.removeMembers(caller, query.roleId, query.userIds);
  }

  /** Assigns the role to several users. */
  @Put('selectAll')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  addAll(@CurrentCaller() caller: Caller, @Query() query: RoleMembersQuery): Promise<void> {
    return this.users.addMembers(caller, query.roleId, query.userIds);
  }
}
