import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WhileConnected,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { SearchProviderService } from './search-provider.service.js';
import {
  ChangedSearchProviderDto,
  NewSearchProviderDto,
  SearchCodeView,
  SearchProviderListQuery,
  SearchProviderView,
  SearchTestView,
  TestSearchDto,
} from './web.dto.js';

@ApiTags('search providers')
@Controller('system/search')
export class SearchProviderController {
  constructor(private readonly providers: SearchProviderService) {}

  /** The services that search the web for agents of the tenant, in the order in which they are asked. */
  @Get('list')
  @RequirePermission('system:search:list')
  @AnswersPage(SearchProviderView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: SearchProviderListQuery,
  ): Promise<Page<SearchProviderView>> {
    return this.providers.list(caller, query);
  }

  /** The kinds of services, with their addresses. */
  @Get('kinds')
  @RequirePermission('system:search:list')
  @AnswersArray(SearchCodeView)
  kinds(): SearchCodeView[] {
    return this.providers.kinds();
  }

  /** Adds a provider, disabled by default. Until one is enabled, agents are offered no tools of the web. */
  @Post()
  @RequirePermission('system:search:add')
  @Answers(SearchProviderView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: NewSearchProviderDto,
  ): Promise<SearchProviderView> {
    return this.providers.create(caller, body);
  }

  /** Changes a provider, and enables or disables it by `status`. A new address needs its key again. */
  @Put()
  @RequirePermission('system:search:edit')
  @Answers(SearchProviderView)
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: ChangedSearchProviderDto,
  ): Promise<SearchProviderView> {
    return this.providers.update(caller, body);
  }

  /** Searches with a provider, enabled or not. The search is paid and recorded like any other. */
  @Post(':id/test')
  @RequirePermission('system:search:test')
  @Answers(SearchTestView)
  test(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() body: TestSearchDto,
    @WhileConnected() signal: AbortSignal,
  ): Promise<SearchTestView> {
    return this.providers.test(caller, id, body, signal);
  }

  /** Deletes providers with their keys. */
  @Delete(':ids')
  @RequirePermission('system:search:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.providers.remove(caller, ids);
  }
}
