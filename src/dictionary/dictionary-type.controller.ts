import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { DictionaryTypeService } from './dictionary-type.service.js';
import {
  CreateDictionaryTypeBody,
  DictionaryTypeListQuery,
  UpdateDictionaryTypeBody,
} from './dictionary.dto.js';
import { DictionaryTypeView } from './dictionary.view.js';

@ApiTags('dictionary')
@Controller('system/dict/type')
export class DictionaryTypeController {
  constructor(private readonly types: DictionaryTypeService) {}

  /** The dictionary types. */
  @Get('list')
  @RequirePermission('system:dict:list')
  @AnswersPage(DictionaryTypeView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: DictionaryTypeListQuery,
  ): Promise<Page<DictionaryTypeView>> {
    return this.types.list(caller, query);
  }

  /** All dictionary types, for a choice. */
  @Get('optionselect')
  @RequirePermission('system:dict:list', 'system:dict:query')
  @AnswersArray(DictionaryTypeView)
  options(@CurrentCaller() caller: Caller): Promise<DictionaryTypeView[]> {
    return this.types.options(caller);
  }

  /** One dictionary type. */
  @Get(':dictId')
  @RequirePermission('system:dict:query')
  @Answers(DictionaryTypeView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('dictId', IdPipe) dictId: number,
  ): Promise<DictionaryTypeView> {
    return this.types.detail(caller, dictId);
  }

  /** Creates a dictionary type; `data` is its id. */
  @Post()
  @RequirePermission('system:dict:add')
  @AnswersId('integer')
  create(@CurrentCaller() caller: Caller, @Body() body: CreateDictionaryTypeBody): Promise<number> {
    return this.types.create(caller, body);
  }

  /** Changes a dictionary type; entries follow a new dictType. */
  @Put()
  @RequirePermission('system:dict:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateDictionaryTypeBody): Promise<void> {
    return this.types.update(caller, body);
  }

  /** Deletes dictionary types that have no entries. */
  @Delete(':dictIds')
  @RequirePermission('system:dict:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('dictIds', IdsPipe) dictIds: number[],
  ): Promise<void> {
    return this.types.remove(caller, dictIds);
  }
}
