import { randomUUID } from 'node:crypto';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, numberOf, objectOf, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { fileAddress, imageName } from './generated-file.js';
import type { MediaTask, TaskState, TaskStore } from './task-store.js';

const STATES: Record<TaskState, string> = {
  queued: 'PENDING',
  running: 'RUNNING',
  completed: 'SUCCEEDED',
  failed: 'FAILED',
};

/** The asynchronous text-to-image service of DashScope. */
export function dashscopeRoutes(tasks: TaskStore): Route[] {
  return [
    {
      method: 'POST',
      path: /\/services\/aigc\/text2image\/image-synthesis$/,
      protocol: 'dashscope',
      handle: (exchange, behaviour) => createTask(tasks, exchange, behaviour),
    },
    {
      method: 'GET',
      path: /\/tasks\/([\w-]+)$/,
      protocol: 'dashscope',
      async handle(exchange, behaviour, id) {
        const task = tasks.poll(id);
        // The service answers 200 also for a task it does not know.
        const output = task ? outputOf(task) : { task_id: id, task_status: 'UNKNOWN' };
        await replyJson(exchange, 200, { request_id: randomUUID(), output }, behaviour);
      },
    },
  ];
}

async function createTask(
  tasks: TaskStore,
  exchange: Exchange,
  behaviour: Behaviour,
): Promise<void> {
  if (exchange.header('x-dashscope-async') !== 'enable') {
    return refuse(exchange, 403, 'current user api does not support synchronous calls.');
  }
  const { body } = exchange;
  const prompt = stringOf(objectOf(body['input'])['prompt']);
  if (prompt === '') return refuse(exchange, 400, 'input.prompt is required');
  const parameters = objectOf(body['parameters']);
  const variant = `${prompt} ${numberOf(parameters['seed']) ?? ''}`;
  const address = fileAddress(exchange, imageName(variant, stringOf(parameters['size'])));
  const task = tasks.create('', stringOf(body['model']), address, behaviour);
  const created = { task_id: task.id, task_status: task.word ?? STATES[task.state] };
  const output = behaviour.emptyResult ? {} : created;
  await replyJson(exchange, 200, { request_id: randomUUID(), output }, behaviour);
}

function outputOf(task: MediaTask): JsonObject {
  return {
    task_id: task.id,
    task_status: task.word ?? STATES[task.state],
    submit_time: task.createdAt.toISOString(),
    ...(task.state === 'completed' && {
      results: [{ url: task.address }],
      task_metrics: { TOTAL: 1, SUCCEEDED: 1, FAILED: 0 },
    }),
    ...(task.state === 'failed' && {
      code: 'InternalError',
      message: 'The simulator was told to fail this task.',
    }),
  };
}

function refuse(exchange: Exchange, status: number, message: string): Promise<void> {
  return replyJson(exchange, status, errorBody('dashscope', status, message));
}
