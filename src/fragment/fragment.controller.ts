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
import { CreateFragmentBody, FragmentListQuery, UpdateFragmentBody } from './fragment.dto.js';
import { FragmentService } from './fragment.service.js';
import { fragmentSheet, FragmentView } from './fragment.view.js';

@ApiTags('fragments')
@Controller('system/fragment')
export class FragmentController {
  constructor(private readonly fragments: FragmentService) {}

  /** Fragments of the knowledge bases that the caller may read, by their running number. */
  @Get('list')
  @RequirePermission('system:fragment:list')
  @AnswersPage(FragmentView)
  @WithExport(fragmentSheet, RequirePermission('system:fragment:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: FragmentListQuery,
  ): Promise<Page<FragmentView>> {
    return this.fragments.list(caller, query);
  }

  /** One fragment. */
  @Get(':id')
  @RequirePermission('system:fragment:query')
  @Answers(FragmentView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<FragmentView> {
    return this.fragments.get(caller, id);
  }

  /** Adds a fragment to a document by hand. It has no vector; parsing the document replaces it. */
  @Post()
  @RequirePermission('system:fragment:add')
  @Answers(FragmentView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateFragmentBody,
  ): Promise<Answer<FragmentView>> {
    return this.fragments.create(caller, body);
  }

  /** Changes the text of a fragment. Its vector stays that of the old text; parsing the document replaces both. */
  @Put()
  @RequirePermission('system:fragment:edit')
  @Answers(FragmentView)
  update(
    @CurrentCaller() caller: Caller,
    @Body() body: UpdateFragmentBody,
  ): Promise<Answer<FragmentView>> {
    return this.fragments.update(caller, body);
  }

  /** Deletes fragments with their vectors. */
  @Delete(':ids')
  @RequirePermission('system:fragment:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.fragments.remove(caller, ids);
  }
}
