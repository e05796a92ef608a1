import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answer,
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import {
  ALL_FUNCTIONS,
  ChangedTenantDto,
  NewTenantDto,
  TenantListQuery,
  tenantSheet,
  TenantPackageView,
  TenantStatusDto,
  TenantView,
} from './tenant.dto.js';
import { TenantService } from './tenant.service.js';

/** Tenants, for super administrators only: the service checks that in addition to the permission. */
@ApiTags('tenants')
@Controller('system/tenant')
export class TenantController {
  constructor(private readonly tenants: TenantService) {}

  /** All tenants, newest first. */
  @Get('list')
  @RequirePermission('system:tenant:list')
  @AnswersPage(TenantView)
  @WithExport(tenantSheet, RequirePermission('system:tenant:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: TenantListQuery,
  ): Promise<Page<TenantView>> {
    return this.tenants.list(caller, query);
  }

  /** Switches this sign-in back to the tenant of the caller. */
  @Get('dynamic/clear')
  @RequirePermission('system:tenant:query')
  @AnswersStatus()
  leave(@CurrentCaller() caller: Caller): Promise<void> {
    return this.tenants.leave(caller);
  }

  /** Switches this sign-in to another tenant, from the next request on. */
  @Get('dynamic/:tenantId')
  @RequirePermission('system:tenant:query')
  @AnswersStatus()
  enter(@CurrentCaller() caller: Caller, @Param('tenantId') tenantId: string): Promise<void> {
    return this.tenants.enter(caller, tenantId);
  }

  /** The packages of functions to choose from for a tenant: one with everything. */
  @Get('package/selectList')
  @RequirePermission('system:tenant:list', 'system:tenant:query')
  @AnswersArray(TenantPackageView)
  packages(): TenantPackageView[] {
    return [ALL_FUNCTIONS];
  }

  /** Confirms that the tenant has all functions: new ones need no transfer. */
  @Get('syncTenantPackage')
  @RequirePermission('system:tenant:query')
  @AnswersStatus()
  syncPackage(): Answer<null> {
    return new Answer(null, msg`Every tenant has all functions. There is nothing to transfer.`);
  }

  /** Confirms that every tenant has the built-in dictionaries: they are created with it and by migrations. */
  @Get('syncTenantDict')
  @RequirePermission('system:tenant:query')
  @AnswersStatus()
  syncDictionaries(): Answer<null> {
    return new Answer(
      null,
      msg`Every tenant has the built-in dictionaries. There is nothing to transfer.`,
    );
  }

  /** Confirms that there are no settings of tenants to transfer. */
  @Get('syncTenantConfig')
  @RequirePermission('system:tenant:query')
  @AnswersStatus()
  syncSettings(): Answer<null> {
    return new Answer(
      null,
      msg`Settings apply to the whole installation. There is nothing to transfer.`,
    );
  }

  /** One tenant. */
  @Get(':id')
  @RequirePermission('system:tenant:query')
  @Answers(TenantView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<TenantView> {
    return this.tenants.detail(caller, id);
  }

  /** Creates a tenant with its roles and first administrator. */
  @Post()
  @RequirePermission('system:tenant:add')
  @AnswersStatus()
  create(@CurrentCaller() caller: Caller, @Body() body: NewTenantDto): Promise<void> {
    return this.tenants.create(caller, body);
  }

  /** Changes a tenant. Absent fields keep their values. */
  @Put()
  @RequirePermission('system:tenant:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedTenantDto): Promise<void> {
    return this.tenants.update(caller, body);
  }

  /** Enables or disables a tenant. Disabling ends the open streams of its users. */
  @Put('changeStatus')
  @RequirePermission('system:tenant:edit')
  @AnswersStatus()
  changeStatus(@CurrentCaller() caller: Caller, @Body() body: TenantStatusDto): Promise<void> {
    return this.tenants.changeStatus(caller, body.id, body.status);
  }

  /** Deletes tenants with everything they own, and ends the sign-ins that work in them. */
  @Delete(':ids')
  @RequirePermission('system:tenant:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.tenants.remove(caller, ids);
  }
}
