import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersPage, AnswersStatus, IdsPipe } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { TaskListQuery } from './task.dto.js';
import { TaskService } from './task.service.js';
import { TaskView } from './task.view.js';

@ApiTags('media')
@Controller('media/task')
export class TaskController {
  constructor(private readonly tasks: TaskService) {}

  /** The caller's own tasks, newest first, with what is needed to look them up. */
  @Get('list')
  @LoginOnly()
  @AnswersPage(TaskView)
  list(@CurrentCaller() caller: Caller, @Query() query: TaskListQuery): Promise<Page<TaskView>> {
    return this.tasks.list(caller, query);
  }

  /** Forgets tasks; the provider goes on with them. */
  @Delete(':ids')
  @LoginOnly()
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.tasks.remove(caller, ids);
  }
}
