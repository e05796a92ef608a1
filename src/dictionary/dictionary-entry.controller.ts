import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
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
import { DictionaryEntryService } from './dictionary-entry.service.js';
import {
  CreateDictionaryEntryBody,
  DictionaryEntryListQuery,
  UpdateDictionaryEntryBody,
} from './dictionary.dto.js';
import { DictionaryEntryView } from './dictionary.view.js';

@ApiTags('dictionary')
@Controller('system/dict/data')
export class DictionaryEntryController {
  constructor(private readonly entries: DictionaryEntryService) {}

  /** The entries of all types. */
  @Get('list')
  @RequirePermission('system:dict:list')
  @AnswersPage(DictionaryEntryView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: DictionaryEntryListQuery,
  ): Promise<Page<DictionaryEntryView>> {
    return this.entries.list(caller, query);
  }

  /** The entries of one type by their sort; an unknown type has none. */
  @Get('type/:dictType')
  @LoginOnly()
  @AnswersArray(DictionaryEntryView)
  ofType(
    @CurrentCaller() caller: Caller,
    @Param('dictType') dictType: string,
  ): Promise<DictionaryEntryView[]> {
    return this.entries.ofType(caller, dictType);
  }

  /** One entry. */
  @Get(':dictCode')
  @RequirePermission('system:dict:query')
  @Answers(DictionaryEntryView)
  detail(
    @CurrentCaller() caller: Caller,
    @Param('dictCode', IdPipe) dictCode: number,
  ): Promise<DictionaryEntryView> {
    return this.entries.detail(caller, dictCode);
  }

  /** Creates an entry; `data` is its id. */
  @Post()
  @RequirePermission('system:dict:add')
  @AnswersId('integer')
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateDictionaryEntryBody,
  ): Promise<number> {
    return this.entries.create(caller, body);
  }

  /** Changes an entry. Records that store its old value keep it. */
  @Put()
  @RequirePermission('system:dict:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateDictionaryEntryBody): Promise<void> {
    return this.entries.update(caller, body);
  }

  /** Deletes entries that are not built in. */
  @Delete(':dictCodes')
  @RequirePermission('system:dict:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('dictCodes', IdsPipe) dictCodes: number[],
  ): Promise<void> {
    return this.entries.remove(caller, dictCodes);
  }
}
