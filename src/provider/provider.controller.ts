import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Answer, Page } from '../platform/http/index.js';
import { CreateProviderBody, ProviderListQuery, UpdateProviderBody } from './provider.dto.js';
import { ProviderService } from './provider.service.js';
import { providerSheet, ProviderView } from './provider.view.js';

@ApiTags('providers')
@Controller('system/provider')
export class ProviderController {
  constructor(private readonly providers: ProviderService) {}

  /** The tenant's providers, disabled ones included, by sortOrder and id. */
  @Get('list')
  @RequirePermission('system:provider:list')
  @AnswersPage(ProviderView)
  @WithExport(providerSheet, RequirePermission('system:provider:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ProviderListQuery,
  ): Promise<Page<ProviderView>> {
    return this.providers.list(caller, query);
  }

  /** One provider. */
  @Get(':id')
  @RequirePermission('system:provider:query')
  @Answers(ProviderView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<ProviderView> {
    return this.providers.get(caller, id);
  }

  /** Creates a provider. A code for which there is no adapter can be saved; using its models fails. */
  @Post()
  @RequirePermission('system:provider:add')
  @Answers(ProviderView)
  create(@CurrentCaller() caller: Caller, @Body() body: CreateProviderBody): Promise<ProviderView> {
    return this.providers.create(caller, body);
  }

  /** Changes a provider, and enables or disables it by `status`. */
  @Put()
  @RequirePermission('system:provider:edit')
  @Answers(ProviderView)
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: UpdateProviderBody,
  ): Promise<Answer<ProviderView>> {
    return this.providers.update(caller, body);
  }

  /** Deletes providers. Their models stay, but cannot be called; `msg` says how many. */
  @Delete(':ids')
  @RequirePermission('system:provider:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('ids', IdsPipe) ids: number[],
  ): Promise<Answer<null>> {
    return this.providers.remove(caller, ids);
  }
}
