import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answer,
  Answers,
  AnswersArray,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import {
  CreateDictionaryEntryBody,
  CreateDictionaryTypeBody,
  DictionaryEntryListQuery,
  dictionaryEntrySheet,
  DictionaryEntryView,
  DictionaryTypeListQuery,
  dictionaryTypeSheet,
  DictionaryTypeView,
  UpdateDictionaryEntryBody,
  UpdateDictionaryTypeBody,
} from './dictionary.dto.js';
import { DictionaryService } from './dictionary.service.js';

@ApiTags('dictionary')
@Controller('system/dict/type')
export class DictionaryTypeController {
  constructor(private readonly dictionary: DictionaryService) {}

  /** The dictionary types, newest first. */
  @Get('list')
  @RequirePermission('system:dict:list')
  @AnswersPage(DictionaryTypeView)
  @WithExport(dictionaryTypeSheet, RequirePermission('system:dict:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: DictionaryTypeListQuery,
  ): Promise<Page<DictionaryTypeView>> {
    return this.dictionary.types(caller, query);
  }

  /** All dictionary types, for a choice. */
  @Get('optionselect')
  @RequirePermission('system:dict:list', 'system:dict:query')
  @AnswersArray(DictionaryTypeView)
  options(@CurrentCaller() caller: Caller): Promise<DictionaryTypeView[]> {
    return this.dictionary.typeOptions(caller);
  }

  /** One dictionary type. */
  @Get(':dictId')
  @RequirePermission('system:dict:query')
  @Answers(DictionaryTypeView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('dictId', IdPipe) dictId: number,
  ): Promise<DictionaryTypeView> {
    return this.dictionary.type(caller, dictId);
  }

  /** Creates a dictionary type; `data` is its id. */
  @Post()
  @RequirePermission('system:dict:add')
  @AnswersId('integer')
  create(@CurrentCaller() caller: Caller, @Body() body: CreateDictionaryTypeBody): Promise<number> {
    return this.dictionary.createType(caller, body);
  }

  /** Changes a dictionary type; entries follow a new dictType. */
  @Put()
  @RequirePermission('system:dict:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateDictionaryTypeBody): Promise<void> {
    return this.dictionary.updateType(caller, body);
  }

  /** Succeeds without work: dictionaries are read from the database, so that changes count at once. */
  @Delete('refreshCache')
  @RequirePermission('system:dict:remove')
  @AnswersStatus()
  refreshCache(): Answer<null> {
    return new Answer(
      null,
      msg`Changes of the dictionary count at once. There is nothing to refresh.`,
    );
  }

  /** Deletes dictionary types that have no entries. */
  @Delete(':dictIds')
  @RequirePermission('system:dict:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('dictIds', IdsPipe) dictIds: number[],
  ): Promise<void> {
    return this.dictionary.removeTypes(caller, dictIds);
  }
}

@ApiTags('dictionary')
@Controller('system/dict/data')
export class DictionaryEntryController {
  constructor(private readonly dictionary: DictionaryService) {}

  /** The entries of all types. */
  @Get('list')
  @RequirePermission('system:dict:list')
  @AnswersPage(DictionaryEntryView)
  @WithExport(dictionaryEntrySheet, RequirePermission('system:dict:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: DictionaryEntryListQuery,
  ): Promise<Page<DictionaryEntryView>> {
    return this.dictionary.entries(caller, query);
  }

  /** The entries of one type by their sort; an unknown type has none. */
  @Get('type/:dictType')
  @LoginOnly()
  @AnswersArray(DictionaryEntryView)
  ofType(
    @CurrentCaller() caller: Caller,
    @Param('dictType') dictType: string,
  ): Promise<DictionaryEntryView[]> {
    return this.dictionary.entriesOf(caller, dictType);
  }

  /** One entry. */
  @Get(':dictCode')
  @RequirePermission('system:dict:query')
  @Answers(DictionaryEntryView)
  get(
    @CurrentCaller() caller: Caller,
    @Param('dictCode', IdPipe) dictCode: number,
  ): Promise<DictionaryEntryView> {
    return this.dictionary.entry(caller, dictCode);
  }

  /** Creates an entry; `data` is its id. */
  @Post()
  @RequirePermission('system:dict:add')
  @AnswersId('integer')
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateDictionaryEntryBody,
  ): Promise<number> {
    return this.dictionary.createEntry(caller, body);
  }

  /** Changes an entry. Records that store its old value keep it. */
  @Put()
  @RequirePermission('system:dict:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateDictionaryEntryBody): Promise<void> {
    return this.dictionary.updateEntry(caller, body);
  }

  /** Deletes entries that are not built in. */
  @Delete(':dictCodes')
  @RequirePermission('system:dict:remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('dictCodes', IdsPipe) dictCodes: number[],
  ): Promise<void> {
    return this.dictionary.removeEntries(caller, dictCodes);
  }
}
