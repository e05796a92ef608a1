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
  WithExport,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import {
  ChangedRoleDto,
  NewRoleDto,
  RoleDataScopeDto,
  RoleDepartmentsView,
  RoleListQuery,
  RoleOptionQuery,
  roleSheet,
  RoleStatusDto,
  RoleView,
} from './role.dto.js';
import { RoleService } from './role.service.js';

@ApiTags('roles')
@Controller('system/role')
export class RoleController {
  constructor(private readonly roles: RoleService) {}

  /** The roles of the tenant. */
  @Get('list')
  @RequirePermission('system:role:list')
  @AnswersPage(RoleView)
  @WithExport(roleSheet, RequirePermission('system:role:export'))
  list(@CurrentCaller() caller: Caller, @Query() query: RoleListQuery): Promise<Page<RoleView>> {
    return this.roles.list(caller, query);
  }

  /** Roles to choose from: the given ones, or all enabled ones. */
  @Get('optionselect')
  @RequirePermission('system:role:query')
  @AnswersArray(RoleView)
  options(
    @CurrentCaller() caller: Caller,
    @Query() { roleIds }: RoleOptionQuery,
  ): Promise<RoleView[]> {
    return this.roles.options(caller, roleIds);
  }

  /** The departments of the data scope of a role, for the form of existing consoles. */
  @Get('deptTree/:roleId')
  @RequirePermission('system:role:query')
  @Answers(RoleDepartmentsView)
  departments(
    @CurrentCaller() caller: Caller,
    @Param('roleId', IdPipe) roleId: number,
  ): Promise<RoleDepartmentsView> {
    return this.roles.departmentsOf(caller, roleId);
  }

  /** One role. */
  @Get(':roleId')
  @RequirePermission('system:role:query')
  @Answers(RoleView)
  get(@CurrentCaller() caller: Caller, @Param('roleId', IdPipe) roleId: number): Promise<RoleView> {
    return this.roles.detail(caller, roleId);
  }

  /** Creates a role. It can contain only permissions of the caller. */
  @Post()
  @RequirePermission('system:role:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewRoleDto): Promise<void> {
    return this.roles.create(caller, body);
  }

  /** Changes a role. Absent fields keep their values. */
  @Put()
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedRoleDto): Promise<void> {
    return this.roles.update(caller, body);
  }

  /** Accepts the data scope "all", which every role has, and refuses others. */
  @Put('dataScope')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  changeDataScope(@CurrentCaller() caller: Caller, @Body() body: RoleDataScopeDto): Promise<void> {
    return this.roles.checkDataScope(caller, body.roleId, body.dataScope);
  }

  /** Enables or disables a role. */
  @Put('changeStatus')
  @RequirePermission('system:role:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: RoleStatusDto): Promise<void> {
    return this.roles.changeStatus(caller, body.roleId, body.status);
  }

  /** Deletes roles without users. */
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
