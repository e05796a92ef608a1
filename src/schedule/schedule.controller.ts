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
  NoBody,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import {
  ChangedScheduleDto,
  FireListQuery,
  NewScheduleDto,
  PauseScheduleDto,
  ScheduleFireView,
  ScheduleListQuery,
  ScheduleView,
} from './schedule.dto.js';
import { ScheduleService } from './schedule.service.js';

/** Changes need a sign-in: a schedule works with all rights of its owner. */
@ApiTags('schedules')
@Controller('schedule')
export class ScheduleController {
  constructor(private readonly schedules: ScheduleService) {}

  /** The caller's schedules. */
  @Get('list')
  @RequirePermission('chat:schedule:list')
  @AnswersPage(ScheduleView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ScheduleListQuery,
  ): Promise<Page<ScheduleView>> {
    return this.schedules.list(caller, query);
  }

  /** One schedule of the caller. */
  @Get(':id')
  @RequirePermission('chat:schedule:query')
  @Answers(ScheduleView)
  detail(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<ScheduleView> {
    return this.schedules.detail(caller, id);
  }

  /** The times of the caller's schedules, or of one, with what came of them, the latest first; of each at least the last 50. */
  @Get('fire/list')
  @RequirePermission('chat:schedule:list')
  @AnswersPage(ScheduleFireView)
  fires(
    @CurrentCaller() caller: Caller,
    @Query() query: FireListQuery,
  ): Promise<Page<ScheduleFireView>> {
    return this.schedules.fires(caller, query);
  }

  /** Makes a schedule. It works with the rights that the caller has at each time. */
  @Post()
  @RequirePermission('chat:schedule:add')
  @Answers(ScheduleView)
  create(@CurrentCaller() caller: Caller, @Body() body: NewScheduleDto): Promise<ScheduleView> {
    return this.schedules.create(caller, body);
  }

  /** Changes a schedule: its name, its task and its times as a whole. */
  @Put()
  @RequirePermission('chat:schedule:edit')
  @Answers(ScheduleView)
  update(@CurrentCaller() caller: Caller, @Body() body: ChangedScheduleDto): Promise<ScheduleView> {
    return this.schedules.update(caller, body);
  }

  /** Does the work of a schedule now, besides its times. */
  @Post(':id/run')
  @RequirePermission('chat:schedule:edit')
  @NoBody()
  @AnswersStatus()
  run(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<void> {
    return this.schedules.runNow(caller, id);
  }

  /** Lets the times of a schedule pass, or counts them again. */
  @Post(':id/pause')
  @RequirePermission('chat:schedule:edit')
  @AnswersStatus()
  pause(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() { paused }: PauseScheduleDto,
  ): Promise<void> {
    return this.schedules.pause(caller, id, paused);
  }

  /** Deletes schedules; the chats and runs that they made stay. */
  @Delete(':ids')
  @RequirePermission('chat:schedule:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.schedules.remove(caller, ids);
  }
}
