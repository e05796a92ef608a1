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
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { ApiKeyListQuery, ChangedApiKeyDto, NewApiKeyDto, RotateApiKeyDto } from './api-key.dto.js';
import { ApiKeyService } from './api-key.service.js';
import { ApiKeyPermissionView, ApiKeyView, NewApiKeyView } from './api-key.view.js';

@ApiTags('API keys')
@Controller('system/apikey')
export class ApiKeyController {
  constructor(private readonly keys: ApiKeyService) {}

  /** The keys of the caller or, with system:apikey:others, of all users of the tenant; newest first. */
  @Get('list')
  @RequirePermission('system:apikey:list')
  @AnswersPage(ApiKeyView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ApiKeyListQuery,
  ): Promise<Page<ApiKeyView>> {
    return this.keys.list(caller, query);
  }

  /** The permissions that the caller can choose for a key. */
  @Get('permissions')
  @RequirePermission('system:apikey:list')
  @AnswersArray(ApiKeyPermissionView)
  permissions(@CurrentCaller() caller: Caller): ApiKeyPermissionView[] {
    return this.keys.permissions(caller).map((info) => ApiKeyPermissionView.of(info));
  }

  /** One key, without its secret. */
  @Get(':id')
  @RequirePermission('system:apikey:query')
  @Answers(ApiKeyView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<ApiKeyView> {
    return this.keys.get(caller, id);
  }

  /** Creates a key and answers it, this once. Without permissions it can do nothing. */
  @Post()
  @RequirePermission('system:apikey:add')
  @Answers(NewApiKeyView)
  create(@CurrentCaller() caller: Caller, @Body() body: NewApiKeyDto): Promise<NewApiKeyView> {
    return this.keys.create(caller, body);
  }

  /** Changes a key. Absent fields keep their values. A change of permissions or limits ends its open streams. */
  @Put()
  @RequirePermission('system:apikey:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedApiKeyDto): Promise<void> {
    return this.keys.update(caller, body);
  }

  /** Gives a key a new secret and answers it, this once. The old one stays valid for the overlap. */
  @Post(':id/rotate')
  @RequirePermission('system:apikey:edit')
  @Answers(NewApiKeyView)
  rotate(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() { overlapSeconds = 0 }: RotateApiKeyDto,
  ): Promise<NewApiKeyView> {
    return this.keys.rotate(caller, id, overlapSeconds);
  }

  /** Revokes keys for good and ends their open streams. */
  @Delete(':ids')
  @RequirePermission('system:apikey:remove')
  @AnswersStatus()
  revoke(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.keys.revoke(caller, ids);
  }
}
