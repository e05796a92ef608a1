import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database, TenantScoped } from '../../platform/database/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { Swept } from '../../platform/queue/index.js';
import { notDue, notOnHold, RetentionClasses } from '../../platform/retention/index.js';
import type { DueRecords } from '../../platform/retention/index.js';
import type { ResolvedMediaModel } from '../../model/index.js';
import type { TaskListQuery } from './task.dto.js';
import { EXCERPT_LENGTH, MediaTask } from './task.entity.js';

/** Longest word for a state that is kept. */
const STATUS_LENGTH = 50;
/** Tasks of one batch of a sweep. */
const MAX_SWEPT_COUNT = 1_000;

/** A state of a task, as its service has just said it. */
export interface SeenTask {
  readonly model: Pick<ResolvedMediaModel, 'modelName' | 'category'> & {
    readonly id: number | null;
  };
  readonly providerTaskId: string;
  readonly status: string | null;
}

type Owner = Pick<Caller, 'tenantId' | 'userId'>;

/**
 * The tasks that users have given to model services, each visible only to its user, so that a reload or another device
 * finds them.
 */
@Injectable()
export class TaskRepository {
  private readonly tasks: TenantScoped<MediaTask>;

  constructor(
    private readonly database: Database,
    retention: RetentionClasses,
  ) {
    this.tasks = new TenantScoped(database, MediaTask, msg`The media task`);
    retention.join({
      recordClass: 'media',
      records: 'media_task',
      sweep: (due) => this.sweep(due),
    });
  }

  /** Newest first, without those whose retention has ended. */
  page(owner: Owner, query: TaskListQuery): Promise<Page<MediaTask>> {
    const { tenantId, userId } = owner;
    const createTime = notDue('media', owner);
    const where = { userId, createTime, ...(query.kind && { kind: query.kind }) };
    return this.tasks.page(tenantId, query, where, { id: 'DESC' });
  }

  /** Forgets tasks of the user; the services go on with them. */
  remove({ tenantId, userId }: Owner, ids: readonly number[]): Promise<void> {
    return this.tasks.remove(tenantId, ids, { userId });
  }

  /** Removes a batch of tasks that were begun before the days. */
  private async sweep({ tenantId, userId, days }: DueRecords): Promise<Swept> {
    const rows = await this.database.query(
      `DELETE FROM media_task WHERE tenant_id = $1 AND id IN (
         SELECT task.id FROM media_task task
          WHERE task.tenant_id = $1 AND ($2::bigint IS NULL OR task.user_id = $2)
            AND task.create_time < now() - make_interval(days => $3) AND ${notOnHold('task')} LIMIT $4
       ) RETURNING id`,
      [tenantId, userId, days, MAX_SWEPT_COUNT],
    );
    return { removed: rows.length, isDone: rows.length < MAX_SWEPT_COUNT };
  }

  /** A task that has begun. A service that answers the id of a task it knows already means that task. */
  async record(owner: Owner, task: SeenTask & { readonly text: string }): Promise<void> {
    const { model, providerTaskId, status, text } = task;
    await this.database.query(
      `INSERT INTO media_task
          (tenant_id, user_id, model_id, model_name, kind, provider_task_id, status, excerpt)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (tenant_id, user_id, model_name, provider_task_id)
        DO UPDATE SET status = excluded.status, update_time = now()`,
      [
        owner.tenantId,
        owner.userId,
        model.id,
        model.modelName,
        model.category,
        providerTaskId,
        storedStatus(status),
        excerptOf(text),
      ],
    );
  }

  /** Notes what a lookup has found. Nothing happens when the user has no such task. */
  async updateStatus(owner: Owner, { model, providerTaskId, status }: SeenTask): Promise<void> {
    await this.database.query(
      `UPDATE media_task SET status = coalesce($5, status), update_time = now()
        WHERE tenant_id = $1 AND user_id = $2 AND model_name = $3 AND provider_task_id = $4`,
      [owner.tenantId, owner.userId, model.modelName, providerTaskId, storedStatus(status)],
    );
  }
}

/** Cleans a status of the service: PostgreSQL's text cannot hold NUL or a lone surrogate. */
function storedStatus(status: string | null): string | null {
  return status?.replaceAll('\0', '').slice(0, STATUS_LENGTH).toWellFormed() ?? null;
}

/** The beginning, and no half of a character at its end. */
function excerptOf(text: string): string {
  return text
    .trim()
    .slice(0, EXCERPT_LENGTH)
    .replace(/[\uD800-\uDBFF]$/, '');
}
