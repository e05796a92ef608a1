import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answer,
  Answers,
  AnswersArray,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  AnswersWorkbook,
  FailsWith,
  IdPipe,
  IdsPipe,
  Page,
  WithExport,
} from '../../platform/http/index.js';
import type { ListReader } from '../../platform/http/index.js';
import { ReceivedFiles, ReceivesFiles } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import { msg } from '../../platform/message/index.js';
import { DepartmentView, departmentTree } from '../role/department.js';
import {
  ChangedUserDto,
  NewServiceAccountDto,
  NewUserDto,
  ResetPasswordDto,
  UserImportBody,
  UserListQuery,
  UserOptionQuery,
  UserRolesQuery,
  UserStatusDto,
} from './user.dto.js';
import { UserImport, userImportSheet } from './user.import.js';
import type { UserRow } from './user.import.js';
import { UserService } from './user.service.js';
import {
  RefusedRowsView,
  UserDetailView,
  UserRolesView,
  userSheet,
  UserView,
} from './user.view.js';

@ApiTags('users')
@Controller('system/user')
export class UserController {
  constructor(
    private readonly users: UserService,
    private readonly imports: UserImport,
  ) {}

  /** The users of the tenant, newest first. */
  @Get('list')
  @RequirePermission('system:user:list')
  @AnswersPage(UserView)
  @WithExport(userSheet, RequirePermission('system:user:export'))
  list(@CurrentCaller() caller: Caller, @Query() query: UserListQuery): Promise<Page<UserView>> {
    return this.users.list(caller, query);
  }

  /** The workbook to fill in for an import: headers without rows. */
  @Post('importTemplate')
  @RequirePermission('system:user:import')
  @AnswersWorkbook(userImportSheet)
  importTemplate(): ListReader<UserRow> {
    return () => Promise.resolve(new Page<UserRow>([], 0));
  }

  /**
   * Creates the users of a workbook, the part named `file`: all of its rows or none. With `updateSupport` rows of existing
   * users change them; empty cells and the password stay as they are.
   */
  @Post('importData')
  @RequirePermission('system:user:import')
  @ReceivesFiles({
    updateSupport: { type: 'boolean', description: 'Change users who exist already' },
  })
  @AnswersStatus()
  @FailsWith(RefusedRowsView)
  async importUsers(
    @CurrentCaller() caller: Caller,
    @Body() { updateSupport }: UserImportBody,
    @ReceivedFiles() files: UploadedPart[],
  ): Promise<Answer<null>> {
    const { created, updated } = await this.imports.run(caller, files, updateSupport === true);
    return new Answer(null, msg`${created} users were created, ${updated} were changed.`);
  }

  /** The departments of the tenant: one that has every user. */
  @Get('deptTree')
  @RequirePermission('system:user:list')
  @AnswersArray(DepartmentView)
  departments(): DepartmentView[] {
    return departmentTree();
  }

  /** Users to choose from: the given ones, or all enabled ones. */
  @Get('optionselect')
  @RequirePermission('system:user:query')
  @AnswersArray(UserView)
  options(
    @CurrentCaller() caller: Caller,
    @Query() { userIds }: UserOptionQuery,
  ): Promise<UserView[]> {
    return this.users.options(caller, userIds);
  }

  /** The roles to choose from for a new user. */
  @Get()
  @RequirePermission('system:user:query')
  @Answers(UserDetailView)
  form(@CurrentCaller() caller: Caller): Promise<UserDetailView> {
    return this.users.form(caller);
  }

  /** A user and all roles of the tenant, with those of the user flagged. */
  @Get('authRole/:userId')
  @RequirePermission('system:user:query')
  @Answers(UserRolesView)
  roles(
    @CurrentCaller() caller: Caller,
    @Param('userId', IdPipe) userId: number,
  ): Promise<UserRolesView> {
    return this.users.rolesOf(caller, userId);
  }

  /** One user. */
  @Get(':userId')
  @RequirePermission('system:user:query')
  @Answers(UserDetailView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('userId', IdPipe) userId: number,
  ): Promise<UserDetailView> {
    return this.users.detail(caller, userId);
  }

  /** Creates a user. */
  @Post()
  @RequirePermission('system:user:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewUserDto): Promise<void> {
    return this.users.create(caller, body);
  }

  /** Creates a service account: a user without a password, who cannot sign in and acts by API keys alone. Answers its id. */
  @Post('service')
  @RequirePermission('system:user:add')
  @AnswersId('integer')
  createService(
    @CurrentCaller() caller: Caller,
    @Body() body: NewServiceAccountDto,
  ): Promise<number> {
    return this.users.createService(caller, body);
  }

  /** Changes a user. Absent fields keep their values. */
  @Put()
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedUserDto): Promise<void> {
    return this.users.update(caller, body);
  }

  /** Sets the password of another user and ends their sign-ins. */
  @Put('resetPwd')
  @RequirePermission('system:user:resetPwd')
  @AnswersStatus()
  resetPassword(@CurrentCaller() caller: Caller, @Body() body: ResetPasswordDto): Promise<void> {
    return this.users.resetPassword(caller, body.userId, body.password);
  }

  /** Enables or disables a user. Disabling ends their sign-ins and open streams. */
  @Put('changeStatus')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: UserStatusDto): Promise<void> {
    return this.users.changeStatus(caller, body.userId, body.status);
  }

  /** Replaces the roles of a user. */
  @Put('authRole')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  changeRoles(@CurrentCaller() caller: Caller, @Query() query: UserRolesQuery): Promise<void> {
    return this.users.replaceRoles(caller, query.userId, query.roleIds ?? []);
  }

  /** Deletes users and everything they own. */
  @Delete(':userIds')
  @RequirePermission('system:user:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('userIds', IdsPipe) userIds: number[],
  ): Promise<void> {
    return this.users.remove(caller, userIds);
  }
}
