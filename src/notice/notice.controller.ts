import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersPage, AnswersStatus, IdsPipe } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { NewNoticeTargetDto, NewNoticeTargetView } from './notice.dto.js';
import { NoticeTargetKindsView, NoticeTargetListQuery, NoticeTargetView } from './notice.dto.js';
import { NoticeService } from './notice.service.js';

@ApiTags('limits')
@Controller('system/limit/target')
export class NoticeTargetController {
  constructor(private readonly notices: NoticeService) {}

  /** The addresses that are told when 50, 80 and 100 % of a limit are used, with their last notice. */
  @Get('list')
  @RequirePermission('system:limit:list')
  @AnswersPage(NoticeTargetView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: NoticeTargetListQuery,
  ): Promise<Page<NoticeTargetView>> {
    return this.notices.list(caller, query);
  }

  /** The kinds of addresses that the installation can tell. */
  @Get('kinds')
  @RequirePermission('system:limit:list')
  @Answers(NoticeTargetKindsView)
  kinds(): NoticeTargetKindsView {
    return NoticeTargetKindsView.of({ kinds: this.notices.kinds });
  }

  /** Adds an address. Thresholds that were reached before are not told. */
  @Post()
  @RequirePermission('system:limit:add')
  @Answers(NewNoticeTargetView)
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: NewNoticeTargetDto,
  ): Promise<NewNoticeTargetView> {
    return this.notices.create(caller, body);
  }

  /** Removes addresses, and what was still to be delivered to them. */
  @Delete(':ids')
  @RequirePermission('system:limit:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.notices.remove(caller, ids);
  }
}
