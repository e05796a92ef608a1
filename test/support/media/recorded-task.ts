import { TaskRepository } from '../../../src/media/task/task.repository.js';
import { done } from '../people.js';
import type { Plinth } from '../plinth.js';
import type { Session } from '../session.js';

/** Records a task of the session's user as if a model service had begun it, and answers the id of the record. */
export async function recordTask(plinth: Plinth, session: Session, text: string): Promise<string> {
  interface Own {
    readonly user: { readonly userId: number; readonly tenantId: string };
  }
  const { userId, tenantId } = done(await session.get<Own>('/system/user/getInfo')).data.user;
  await plinth.app.get(TaskRepository, { strict: false }).record(
    { tenantId, userId },
    {
      model: { id: null, modelName: 'filmer', category: 'video' },
      providerTaskId: `task-of-${text}`.slice(0, 200),
      status: 'processing',
      text,
    },
  );
  const [newest] = done(await session.get<{ id: number }[]>('/media/task/list')).rows;
  if (!newest) throw new Error('The task is not in the list.');
  return String(newest.id);
}
