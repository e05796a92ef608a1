import { randomUUID } from 'node:crypto';
import type { Behaviour } from '../behaviour/behaviour.js';

export type TaskState = 'queued' | 'running' | 'completed' | 'failed';

export interface MediaTask {
  readonly id: string;
  readonly model: string;
  /** Address of the result, which is returned only once the task is completed. */
  readonly address: string;
  readonly createdAt: Date;
  state: TaskState;
  /** Said instead of the protocol's word for the state. */
  readonly word?: string;
}

interface StoredTask extends MediaTask {
  pollsLeft: number;
  outcome: TaskState;
}

const KEPT_TASKS = 1000;
const DEFAULT_POLLS = 2;

/** The tasks of asynchronous media services. A task advances with each look at it. */
export class TaskStore {
  private readonly tasks = new Map<string, StoredTask>();

  create(prefix: string, model: string, address: string, behaviour: Behaviour): MediaTask {
    const task: StoredTask = {
      id: `${prefix}${randomUUID()}`,
      model,
      address,
      createdAt: new Date(),
      state: 'queued',
      pollsLeft: behaviour.polls ?? DEFAULT_POLLS,
      outcome: outcomeOf(behaviour),
      ...(behaviour.taskState !== undefined && { word: behaviour.taskState }),
    };
    this.tasks.set(task.id, task);
    const [oldest] = this.tasks.keys();
    if (this.tasks.size > KEPT_TASKS && oldest !== undefined) this.tasks.delete(oldest);
    return task;
  }

  /** Advances the task by one query and returns it; undefined when it is unknown. */
  poll(id: string): MediaTask | undefined {
    const task = this.tasks.get(id);
    if (task === undefined) return undefined;
    task.pollsLeft -= 1;
    task.state = task.pollsLeft > 0 ? 'running' : task.outcome;
    return task;
  }

  find(id: string): MediaTask | undefined {
    return this.tasks.get(id);
  }

  clear(): void {
    this.tasks.clear();
  }
}

function outcomeOf({ taskFail, taskState }: Behaviour): TaskState {
  if (taskState !== undefined) return 'running';
  return taskFail ? 'failed' : 'completed';
}
