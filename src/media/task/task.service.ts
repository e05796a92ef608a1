import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { Page } from '../../platform/http/index.js';
import type { ResolvedMediaModel } from '../../model/index.js';
import type { TaskListQuery } from './task.dto.js';
import { EXCERPT_LENGTH } from './task.entity.js';
import { TaskRepository } from './task.repository.js';
import type { TaskKey } from './task.repository.js';
import { toTaskView } from './task.view.js';
import type { TaskView } from './task.view.js';

/** Longest word for a state that is kept. */
const STATUS_LENGTH = 50;

/** A state of a task, as its service has just said it. */
interface SeenTask {
  readonly model: ResolvedMediaModel;
  readonly providerTaskId: string;
  readonly status: string | null;
}

/** Remembers the tasks that users have given to model services, so that a reload or another device finds them. */
@Injectable()
export class TaskService {
  constructor(private readonly tasks: TaskRepository) {}

  /** The caller's own tasks, newest first. */
  async list(caller: Caller, query: TaskListQuery): Promise<Page<TaskView>> {
    const page = await this.tasks.page(caller.tenantId, caller.userId, query);
    return page.map(toTaskView);
  }

  /** Forgets tasks of the caller's own; the services go on with them. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.tasks.remove(caller.tenantId, caller.userId, ids);
  }

  /** Remembers a task that has begun. */
  async record(caller: Caller, task: SeenTask & { readonly text: string }): Promise<void> {
    const { id: modelId, category: kind } = task.model;
    await this.tasks.record({
      ...keyOf(caller, task),
      modelId,
      kind,
      status: shownStatus(task.status),
      excerpt: excerptOf(task.text),
    });
  }

  /** Notes what a lookup has found of a task, if it is one of the caller's. */
  async seen(caller: Caller, task: SeenTask): Promise<void> {
    await this.tasks.seen(keyOf(caller, task), shownStatus(task.status));
  }
}

function keyOf({ tenantId, userId }: Caller, { model, providerTaskId }: SeenTask): TaskKey {
  return { tenantId, userId, modelName: model.modelName, providerTaskId };
}

/** Whatever the service says: PostgreSQL's text cannot hold NUL or half a character. */
function shownStatus(status: string | null): string | null {
  return status?.replaceAll('\0', '').slice(0, STATUS_LENGTH).toWellFormed() ?? null;
}

/** The beginning, and no half of a character at its end. */
function excerptOf(text: string): string {
  return text
    .trim()
    .slice(0, EXCERPT_LENGTH)
    .replace(/[\uD800-\uDBFF]$/, '');
}
