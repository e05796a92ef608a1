import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersPage, AnswersStatus, IdsPipe } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { TaskListQuery, TaskView } from './task.dto.js';
import { TaskRepository } from './task.repository.js';

@ApiTags('media')
@Controller('media/task')
export class MediaTaskController {
  constructor(private readonly tasks: TaskRepository) {}

  /** The caller's own tasks, newest first, with what is needed to look them up. */
  @Get('list')
  @LoginOnly({ apiKey: 'media:media:use' })
  @AnswersPage(TaskView)
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: TaskListQuery,
  ): Promise<Page<TaskView>> {
    const page = await this.tasks.page(caller, query);
    return page.map((task) =>
      TaskView.of(task, { model: task.modelName, taskId: task.providerTaskId }),
    );
  }

  /** Forgets tasks; the provider goes on with them. */
  @Delete(':ids')
  @LoginOnly({ apiKey: 'media:media:use' })
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.tasks.remove(caller, ids);
  }
}
