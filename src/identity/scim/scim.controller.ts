import {
  applyDecorators,
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import type { Type } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { NoEnvelope } from '../../platform/http/index.js';
import { ScimAddress } from './scim.address.js';
import {
  ScimGroupBody,
  ScimListQuery,
  ScimPatchBody,
  ScimShownQuery,
  ScimUserBody,
} from './scim.dto.js';
import { SCIM_TYPE } from './scim.errors.js';
import { ScimGroups } from './scim.groups.js';
import { listOf } from './scim.list.js';
import { resourceTypes, schemas, serviceProviderConfig, withId } from './scim.schemas.js';
import { ScimUsers } from './scim.users.js';
import { ScimGroupView, ScimListView, ScimObjectView, ScimUserView } from './scim.view.js';
import type { ScimResource } from './scim.view.js';

/** A route that answers a resource in the media type of SCIM. */
function AnswersScim(view: Type, status: 200 | 201 = 200): MethodDecorator {
  const content = { [SCIM_TYPE]: { schema: { $ref: getSchemaPath(view) } } };
  return applyDecorators(
    Header('Content-Type', SCIM_TYPE),
    HttpCode(status),
    ApiExtraModels(view),
    status === 201 ? ApiCreatedResponse({ content }) : ApiOkResponse({ content }),
  );
}

/** SCIM 2.0 (RFC 7643, RFC 7644) for the directory of a tenant, such as Entra ID and Okta. */
@ApiTags('provisioning')
@Controller('scim/v2')
@RequirePermission('system:scim:provision')
@NoEnvelope()
export class ScimController {
  constructor(
    private readonly users: ScimUsers,
    private readonly groups: ScimGroups,
    private readonly address: ScimAddress,
  ) {}

  /** Supported parts of SCIM. */
  @Get('ServiceProviderConfig')
  @AnswersScim(ScimObjectView)
  config(): ScimResource {
    return serviceProviderConfig(this.address.base);
  }

  /** The kinds of resources. */
  @Get('ResourceTypes')
  @AnswersScim(ScimListView)
  resourceTypes(): ScimResource {
    const all = resourceTypes(this.address.base);
    return listOf(all, { total: all.length });
  }

  /** One type of resource. */
  @Get('ResourceTypes/:resourceType')
  @AnswersScim(ScimObjectView)
  resourceType(@Param('resourceType') name: string): ScimResource {
    return withId(resourceTypes(this.address.base), name);
  }

  /** The attributes of resources. */
  @Get('Schemas')
  @AnswersScim(ScimListView)
  schemas(): ScimResource {
    const all = schemas(this.address.base);
    return listOf(all, { total: all.length });
  }

  /** One schema. */
  @Get('Schemas/:urn')
  @AnswersScim(ScimObjectView)
  schema(@Param('urn') urn: string): ScimResource {
    return withId(schemas(this.address.base), urn);
  }

  /** The users of the tenant, without super administrators, break-glass users and service accounts. */
  @Get('Users')
  @AnswersScim(ScimListView)
  listUsers(@CurrentCaller() caller: Caller, @Query() query: ScimListQuery): Promise<ScimResource> {
    return this.users.list(caller, query);
  }

  /** One user. */
  @Get('Users/:id')
  @AnswersScim(ScimUserView)
  getUser(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: ScimShownQuery,
  ): Promise<ScimResource> {
    return this.users.get(caller, id, query);
  }

  /** Creates a user without roles, who signs in by single sign-on. */
  @Post('Users')
  @AnswersScim(ScimUserView, 201)
  async createUser(
    @CurrentCaller() caller: Caller,
    @Body() _: ScimUserBody,
    @Req() { body }: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ScimResource> {
    const user = await this.users.create(caller, body);
    response.location(`${this.address.base}/Users/${String(user['id'])}`);
    return user;
  }

  /** Changes the attributes that are given. */
  @Put('Users/:id')
  @AnswersScim(ScimUserView)
  replaceUser(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() _: ScimUserBody,
    @Req() { body }: Request,
  ): Promise<ScimResource> {
    return this.users.replace(caller, id, body);
  }

  /** Changes a user by operations. */
  @Patch('Users/:id')
  @AnswersScim(ScimUserView)
  patchUser(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() _: ScimPatchBody,
    @Req() { body }: Request,
  ): Promise<ScimResource> {
    return this.users.patch(caller, id, body);
  }

  /** Deletes a user with everything of theirs, as DELETE /system/user does. */
  @Delete('Users/:id')
  @HttpCode(204)
  @ApiNoContentResponse()
  removeUser(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.users.remove(caller, id);
  }

  /** The groups of the tenant. */
  @Get('Groups')
  @AnswersScim(ScimListView)
  listGroups(
    @CurrentCaller() caller: Caller,
    @Query() query: ScimListQuery,
  ): Promise<ScimResource> {
    return this.groups.list(caller, query);
  }

  /** One group. */
  @Get('Groups/:id')
  @AnswersScim(ScimGroupView)
  getGroup(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: ScimShownQuery,
  ): Promise<ScimResource> {
    return this.groups.get(caller, id, query);
  }

  /** Creates a group. The role mapping of a provisioned provider says which roles it gives. */
  @Post('Groups')
  @AnswersScim(ScimGroupView, 201)
  async createGroup(
    @CurrentCaller() caller: Caller,
    @Body() _: ScimGroupBody,
    @Req() { body }: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ScimResource> {
    const group = await this.groups.create(caller, body);
    response.location(`${this.address.base}/Groups/${String(group['id'])}`);
    return group;
  }

  /** Changes the attributes that are given. */
  @Put('Groups/:id')
  @AnswersScim(ScimGroupView)
  replaceGroup(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() _: ScimGroupBody,
    @Req() { body }: Request,
  ): Promise<ScimResource> {
    return this.groups.replace(caller, id, body);
  }

  /** Changes a group by operations. The answer is empty, because a group can be large. */
  @Patch('Groups/:id')
  @HttpCode(204)
  @ApiNoContentResponse()
  patchGroup(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() _: ScimPatchBody,
    @Req() { body }: Request,
  ): Promise<void> {
    return this.groups.patch(caller, id, body);
  }

  /** Deletes a group, and takes the roles that it has given. */
  @Delete('Groups/:id')
  @HttpCode(204)
  @ApiNoContentResponse()
  removeGroup(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.groups.remove(caller, id);
  }
}
