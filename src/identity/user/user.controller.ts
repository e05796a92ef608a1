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
  TimeRangeQuery,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { UserDirectory } from './user.directory.js';
import {
  ChangedUserDto,
  NewUserDto,
  ResetPasswordDto,
  UserListQuery,
  UserOptionQuery,
  UserRolesQuery,
  UserStatusDto,
} from './user.dto.js';
import { UserPasswords } from './user.passwords.js';
import { UserService } from './user.service.js';
import { UserStanding } from './user.standing.js';
import { UserDetailView, UserRolesView, UserView } from './user.view.js';

@ApiTags('users')
@Controller('system/user')
export class UserController {
  constructor(
    private readonly directory: UserDirectory,
    private readonly users: UserService,
    private readonly standing: UserStanding,
    private readonly passwords: UserPasswords,
  ) {}

  /** The users of the tenant. */
  @Get('list')
  @RequirePermission('system:user:list')
  @TimeRangeQuery()
  @AnswersPage(UserView)
  list(@CurrentCaller() caller: Caller, @Query() query: UserListQuery): Promise<Page<UserView>> {
    return this.directory.list(caller, query);
  }

  /** Users to choose from: those named, or all that are enabled. */
  @Get('optionselect')
  @RequirePermission('system:user:query')
  @AnswersArray(UserView)
  options(
    @CurrentCaller() caller: Caller,
    @Query() { userIds }: UserOptionQuery,
  ): Promise<UserView[]> {
    return this.directory.options(caller, userIds);
  }

  /** What the form for a new user needs. */
  @Get()
  @RequirePermission('system:user:query')
  @Answers(UserDetailView)
  form(@CurrentCaller() caller: Caller): Promise<UserDetailView> {
    return this.directory.form(caller);
  }

  /** A user and all roles of the tenant, those the user has marked. */
  @Get('authRole/:userId')
  @RequirePermission('system:user:query')
  @Answers(UserRolesView)
  roles(
    @CurrentCaller() caller: Caller,
    @Param('userId', IdPipe) userId: number,
  ): Promise<UserRolesView> {
    return this.standing.rolesOf(caller, userId);
  }

  /** One user. */
  @Get(':userId')
  @RequirePermission('system:user:query')
  @Answers(UserDetailView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('userId', IdPipe) userId: number,
  ): Promise<UserDetailView> {
    return this.directory.detail(caller, userId);
  }

  /** Makes a user. */
  @Post()
  @RequirePermission('system:user:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewUserDto): Promise<void> {
    return this.users.create(caller, body);
  }

  /** Changes a user; what is absent stays. */
  @Put()
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedUserDto): Promise<void> {
    return this.users.update(caller, body);
  }

  /** Sets another user's password and ends that user's sign-ins. */
  @Put('resetPwd')
  @RequirePermission('system:user:resetPwd')
  @AnswersStatus()
  resetPassword(@CurrentCaller() caller: Caller, @Body() body: ResetPasswordDto): Promise<void> {
    return this.passwords.reset(caller, body.userId, body.password);
  }

  /** Enables or disables a user; disabling ends the sign-ins and open streams. */
  @Put('changeStatus')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: UserStatusDto): Promise<void> {
    return this.standing.changeStatus(caller, body.userId, body.status);
  }

  /** Gives a user exactly these roles. */
  @Put('authRole')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  changeRoles(@CurrentCaller() caller: Caller, @Query() query: UserRolesQuery): Promise<void> {
    return this.standing.changeRoles(caller, query.userId, query.roleIds ?? []);
  }

  /** Deletes users with all that is theirs. */
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
