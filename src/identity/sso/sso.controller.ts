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
  NoBody,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import {
  ChangedSsoProviderDto,
  NewSsoProviderDto,
  SsoProviderListQuery,
  SsoSettingsDto,
} from './sso.dto.js';
import { SsoService } from './sso.service.js';
import { SsoDiagnosisView, SsoDraftView, SsoProviderView, SsoSettingsView } from './sso.view.js';

@ApiTags('single sign-on')
@Controller('system/sso')
export class SsoController {
  constructor(private readonly sso: SsoService) {}

  /** The providers of the tenant. */
  @Get('list')
  @RequirePermission('system:sso:list')
  @AnswersPage(SsoProviderView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: SsoProviderListQuery,
  ): Promise<Page<SsoProviderView>> {
    return this.sso.list(caller, query);
  }

  /** Whether passwords are accepted, and from whom always. */
  @Get('settings')
  @RequirePermission('system:sso:query')
  @Answers(SsoSettingsView)
  settings(@CurrentCaller() caller: Caller): Promise<SsoSettingsView> {
    return this.sso.settings(caller);
  }

  /** Changes them. Without password sign-in there must be an enabled break-glass user. */
  @Put('settings')
  @RequirePermission('system:sso:edit')
  @AnswersStatus()
  changeSettings(@CurrentCaller() caller: Caller, @Body() body: SsoSettingsDto): Promise<void> {
    return this.sso.changeSettings(caller, body);
  }

  /** The addresses of a provider that is to be created: a provider is often set up before its client id is known here. */
  @Get('draft')
  @RequirePermission('system:sso:query')
  @Answers(SsoDraftView)
  draft(@CurrentCaller() caller: Caller): SsoDraftView {
    return this.sso.draft(caller);
  }

  /** One provider, without its secret. */
  @Get(':id')
  @RequirePermission('system:sso:query')
  @Answers(SsoProviderView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<SsoProviderView> {
    return this.sso.get(caller, id);
  }

  /** Creates a provider. Answers its id. */
  @Post()
  @RequirePermission('system:sso:add')
  @AnswersId('integer')
  create(@CurrentCaller() caller: Caller, @Body() body: NewSsoProviderDto): Promise<number> {
    return this.sso.create(caller, body);
  }

  /** Changes a provider. Absent fields keep their values. Disabling it ends the sign-ins with it. */
  @Put()
  @RequirePermission('system:sso:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedSsoProviderDto): Promise<void> {
    return this.sso.update(caller, body);
  }

  /** Calls the provider as it is saved, step by step, without a user. */
  @Post(':id/test')
  @NoBody()
  @RequirePermission('system:sso:test')
  @Answers(SsoDiagnosisView)
  test(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
  ): Promise<SsoDiagnosisView> {
    return this.sso.test(caller, id);
  }

  /** Deletes providers and ends the sign-ins with them. Their users stay. */
  @Delete(':ids')
  @RequirePermission('system:sso:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.sso.remove(caller, ids);
  }
}
