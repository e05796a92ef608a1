import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { UserView } from '../user/user.view.js';
import {
  ChangedRoleDto,
  NewRoleDto,
  RoleListQuery,
  RoleMemberDto,
  RoleMemberQuery,
  RoleMembersQuery,
  RoleOptionQuery,
  RoleStatusDto,
} from './role.dto.js';
import { RoleMembers } from './role.members.js';
import { RoleService } from './role.service.js';
import { RoleView } from './role.view.js';

@ApiTags('roles')
@Controller('system/role')
export class RoleController {
  constructor(
    private readonly roles: RoleService,
    private readonly members: RoleMembers,
  ) {}

  /** The roles of the tenant. */
  @Get('list')
  @RequirePermission('system:role:list')
  @AnswersPage(RoleView)
  list(@CurrentCaller() caller: Caller, @Query() query: RoleListQuery): Promise<Page<RoleView>> {
    return this.roles.list(caller, query);
  }

  /** Roles to choose from: those named, or all that are enabled. */
  @Get('optionselect')
  @RequirePermission('system:role:query')
  @AnswersArray(RoleView)
  options(
    @CurrentCaller() caller: Caller,
    @Query() { roleIds }: RoleOptionQuery,
  ): Promise<RoleView[]> {
    return this.roles.options(caller, roleIds);
  }

  /** The users that have the role. */
  @Get('authUser/allocatedList')
  @RequirePermission('system:role:list')
  @AnswersPage(UserView)
  having(
    @CurrentCaller() caller: Caller,
    @Query() query: RoleMemberQuery,
  ): Promise<Page<UserView>> {
    return this.members.having(caller, query);
  }

  /** The users that do not have the role. */
  @Get('authUser/unallocatedList')
  @RequirePermission('system:role:list')
  @AnswersPage(UserView)
  lacking(
    @CurrentCaller() caller: Caller,
    @Query() query: RoleMemberQuery,
  ): Promise<Page<UserView>> {
    return this.members.lacking(caller, query);
  }

  /** One role. */
  @Get(':roleId')
  @RequirePermission('system:role:query')
  @Answers(RoleView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('roleId', IdPipe) roleId: number,
  ): Promise<RoleView> {
    return this.roles.detail(caller, roleId);
  }

  /** Makes a role; it can allow only what the caller may do. */
  @Post()
  @RequirePermission('system:role:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewRoleDto): Promise<void> {
    return this.roles.create(caller, body);
  }

  /** Changes a role; what is absent stays. */
  @Put()
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedRoleDto): Promise<void> {
    return this.roles.update(caller, body);
  }

  /** Enables or disables a role. */
  @Put('changeStatus')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: RoleStatusDto): Promise<void> {
    return this.roles.changeStatus(caller, body.roleId, body.status);
  }

  /** Takes the role from one user. */
  @Put('authUser/cancel')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  take(@CurrentCaller() caller: Caller, @Body() body: RoleMemberDto): Promise<void> {
    return this.members.take(caller, body.roleId, [body.userId]);
  }

  /** Takes the role from several users. */
  @Put('authUser/cancelAll')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  takeAll(@CurrentCaller() caller: Caller, @Query() query: RoleMembersQuery): Promise<void> {
    return this.members.take(caller, query.roleId, query.userIds);
  }

  /** Gives the role to several users. */
  @Put('authUser/selectAll')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  giveAll(@CurrentCaller() caller: Caller, @Query() query: RoleMembersQuery): Promise<void> {
    return this.members.give(caller, query.roleId, query.userIds);
  }

  /** Deletes roles that nobody has. */
  @Delete(':roleIds')
  @RequirePermission('system:role:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('roleIds', IdsPipe) roleIds: number[],
  ): Promise<void> {
    return this.roles.remove(caller, roleIds);
  }
}
