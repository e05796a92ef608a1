import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, numberOf, objectsOf, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { audioName, fileAddress, imageName, videoName } from './generated-file.js';
import type { MediaTask, TaskState, TaskStore } from './task-store.js';

const STATES: Record<TaskState, string> = {
  queued: 'processing',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
};

/** Name of the file for a request, or undefined when the request has no prompt or text. */
type NameFile = (body: JsonObject) => string | undefined;

/** Images, videos and speech as predictions that are looked up later. */
export function predictionRoutes(tasks: TaskStore): Route[] {
  const create = (path: RegExp, nameFile: NameFile): Route => ({
    method: 'POST',
    path,
    protocol: 'media-async',
    handle: (exchange, behaviour) => createPrediction(tasks, nameFile, exchange, behaviour),
  });
  return [
    create(/\/model\/generateImage$/, nameImage),
    create(/\/model\/generateVideo$/, nameVideo),
    create(/\/model\/generateAudio$/, nameAudio),
    {
      method: 'GET',
      path: /\/model\/prediction\/([\w-]+)$/,
      protocol: 'media-async',
      async handle(exchange, behaviour, id) {
        const task = tasks.poll(id);
        if (task === undefined) return refuse(exchange, 404, 'prediction not found');
        await replyJson(exchange, 200, predictionJson(exchange, task), behaviour);
      },
    },
  ];
}

async function createPrediction(
  tasks: TaskStore,
  nameFile: NameFile,
  exchange: Exchange,
  behaviour: Behaviour,
): Promise<void> {
  const { body } = exchange;
  const name = nameFile(body);
  if (name === undefined) return refuse(exchange, 400, 'prompt or text is required');
  const address = fileAddress(exchange, name);
  const isSynchronous = body['enable_sync_mode'] === true;
  const task = tasks.create('pred_', stringOf(body['model']), address, {
    ...behaviour,
    ...(isSynchronous && { polls: 1 }),
  });
  if (isSynchronous) tasks.poll(task.id);
  const answer = behaviour.emptyResult
    ? { code: 200, message: 'success', data: null }
    : predictionJson(exchange, task);
  await replyJson(exchange, 200, answer, behaviour);
}

function nameImage(body: JsonObject): string | undefined {
  const prompt = stringOf(body['prompt']);
  const variant = `${prompt} ${numberOf(body['seed']) ?? ''}`;
  return prompt === '' ? undefined : imageName(variant, stringOf(body['size']));
}

function nameVideo(body: JsonObject): string | undefined {
  const prompt = stringOf(body['prompt']);
  return prompt === '' ? undefined : videoName(prompt, numberOf(body['duration']));
}

function nameAudio(body: JsonObject): string | undefined {
  const text = stringOf(body['text']);
  const voice = stringOf(objectsOf(body['references'])[0]?.['speaker']);
  return text === '' ? undefined : audioName(text, voice);
}

function predictionJson(exchange: Exchange, task: MediaTask): JsonObject {
  const { id, model, state, word } = task;
  const data = {
    id,
    model,
    status: word ?? STATES[state],
    outputs: state === 'completed' ? [task.address] : null,
    urls: { get: `${exchange.origin}/api/v1/model/prediction/${id}` },
    error: state === 'failed' ? 'The simulator was told to fail this task.' : '',
    created_at: task.createdAt.toISOString(),
  };
  return { code: 200, message: 'success', data };
}

function refuse(exchange: Exchange, status: number, message: string): Promise<void> {
  return replyJson(exchange, status, errorBody('media-async', status, message));
}
