import { Injectable } from '@nestjs/common';
import { Database, TenantScoped } from '../../platform/database/index.js';
import type { Page } from '../../platform/http/index.js';
import type { TaskListQuery } from './task.dto.js';
import { MediaTask } from './task.entity.js';

/** Whose task it is, and what its service calls it. */
export type TaskKey = Pick<MediaTask, 'tenantId' | 'userId' | 'modelName' | 'providerTaskId'>;
type TaskValues = TaskKey & Pick<MediaTask, 'modelId' | 'kind' | 'status' | 'excerpt'>;

/** The media tasks of users, each visible to its user alone. */
@Injectable()
export class TaskRepository {
  private readonly tasks: TenantScoped<MediaTask>;

  constructor(private readonly database: Database) {
    this.tasks = new TenantScoped(database, MediaTask, 'The media task');
  }

  page(tenantId: string, userId: number, query: TaskListQuery): Promise<Page<MediaTask>> {
    const where = { userId, ...(query.kind && { kind: query.kind }) };
    return this.tasks.page(tenantId, query, where, { id: 'DESC' });
  }

  /** A service that answers the id of a task it knows already means that task. */
  async record(task: TaskValues): Promise<void> {
    const { tenantId, userId, modelId, modelName, kind, providerTaskId, status, excerpt } = task;
    await this.database.query(
      `INSERT INTO media_task
          (tenant_id, user_id, model_id, model_name, kind, provider_task_id, status, excerpt)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (tenant_id, user_id, model_name, provider_task_id)
        DO UPDATE SET status = excluded.status, update_time = now()`,
      [tenantId, userId, modelId, modelName, kind, providerTaskId, status, excerpt],
    );
  }

  /** Notes what a lookup has found. Nothing happens when the user has no such task. */
  async seen(
    { tenantId, userId, modelName, providerTaskId }: TaskKey,
    status: string | null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE media_task SET status = coalesce($5, status), update_time = now()
        WHERE tenant_id = $1 AND user_id = $2 AND model_name = $3 AND provider_task_id = $4`,
      [tenantId, userId, modelName, providerTaskId, status],
    );
  }

  async remove(tenantId: string, userId: number, ids: readonly number[]): Promise<void> {
    await this.tasks.remove(tenantId, ids, { userId });
  }
}
