import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { hashText } from '../hash.js';
import { filesIn } from '../http/form.js';
import { type JsonObject, numberOf, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyBytes, replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { audioName, fileAddress, imageName, makeFile, videoName } from './generated-file.js';
import type { MediaTask, TaskState, TaskStore } from './task-store.js';

const MAX_IMAGE_COUNT = 10;
const STATES: Record<TaskState, string> = {
  queued: 'queued',
  running: 'in_progress',
  completed: 'completed',
  failed: 'failed',
};
const PROGRESS: Record<TaskState, number> = { queued: 0, running: 50, completed: 100, failed: 100 };

/** Images and speech answered at once, and videos as tasks, in the form of the OpenAI service. */
export function synchronousMediaRoutes(tasks: TaskStore): Route[] {
  const protocol = 'chat-completions';
  return [
    { method: 'POST', path: /\/images\/generations$/, protocol, handle: answerImage },
    { method: 'POST', path: /\/images\/edits$/, protocol, handle: answerEdit },
    { method: 'POST', path: /\/audio\/speech$/, protocol, handle: answerSpeech },
    {
      method: 'POST',
      path: /\/videos$/,
      protocol,
      handle: (exchange, behaviour) => createVideo(tasks, exchange, behaviour),
    },
    {
      method: 'GET',
      path: /\/videos\/([\w-]+)$/,
      protocol,
      handle: (exchange, behaviour, id) => queryVideo(tasks, exchange, behaviour, id),
    },
    {
      method: 'GET',
      path: /\/videos\/([\w-]+)\/content$/,
      protocol,
      handle: (exchange, behaviour, id) => sendVideo(tasks, exchange, behaviour, id),
    },
  ];
}

async function answerImage(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const { body } = exchange;
  const prompt = stringOf(body['prompt']);
  if (prompt === '') return refuse(exchange, 400, 'prompt is required');
  // Callers that cannot pass the format on choose it by the model name.
  const wantsAddress =
    body['response_format'] === 'url' || stringOf(body['model']).split('--')[0]?.endsWith('-url');
  const count = Math.min(MAX_IMAGE_COUNT, Math.max(1, numberOf(body['n']) ?? 1));
  const length = behaviour.emptyResult ? 0 : count;
  const data = Array.from({ length }, (_, index): JsonObject => {
    const variant = `${prompt} ${numberOf(body['seed']) ?? ''}${index || ''}`;
    const name = imageName(variant, stringOf(body['size']));
    if (wantsAddress) return { url: fileAddress(exchange, name) };
    return { b64_json: makeFile(name)?.bytes.toString('base64') ?? '' };
  });
  await replyJson(exchange, 200, { created: seconds(new Date()), data }, behaviour);
}

/** The picture depends on the prompt and on the bytes of all images, so that a test sees what was sent. */
async function answerEdit(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const { body } = exchange;
  const files = [...filesIn(body, 'image'), ...filesIn(body, 'mask')];
  if (filesIn(body, 'image').length === 0) return refuse(exchange, 400, 'image is required');
  const fileList = files.map(({ type, base64 }) => `${type} ${hashText(base64)}`).join();
  exchange.body = { ...body, prompt: `${stringOf(body['prompt'])} ${fileList}` };
  await answerImage(exchange, behaviour);
}

async function answerSpeech(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const input = stringOf(exchange.body['input']);
  if (input === '') return refuse(exchange, 400, 'input is required');
  // The audio is always WAV, whatever the requested format, and is declared as WAV.
  const file = makeFile(audioName(input, stringOf(exchange.body['voice'])));
  if (file === undefined) return;
  const bytes = behaviour.emptyResult ? Buffer.alloc(0) : file.bytes;
  await replyBytes(exchange, file.type, bytes, behaviour);
}

async function createVideo(
  tasks: TaskStore,
  exchange: Exchange,
  behaviour: Behaviour,
): Promise<void> {
  const { body } = exchange;
  const prompt = stringOf(body['prompt']);
  if (prompt === '') return refuse(exchange, 400, 'prompt is required');
  const address = fileAddress(exchange, videoName(prompt, numberOf(body['seconds'])));
  const task = tasks.create('video_', stringOf(body['model']), address, behaviour);
  const answer = behaviour.emptyResult ? { object: 'video' } : videoJson(task);
  await replyJson(exchange, 200, answer, behaviour);
}

async function queryVideo(
  tasks: TaskStore,
  exchange: Exchange,
  behaviour: Behaviour,
  id: string,
): Promise<void> {
  const task = tasks.poll(id);
  if (task === undefined) return refuse(exchange, 404, `Video ${id} not found`);
  await replyJson(exchange, 200, videoJson(task), behaviour);
}

async function sendVideo(
  tasks: TaskStore,
  exchange: Exchange,
  behaviour: Behaviour,
  id: string,
): Promise<void> {
  const task = tasks.find(id);
  const name = task?.state === 'completed' ? task.address.split('/').at(-1) : undefined;
  const file = makeFile(name ?? '');
  if (file === undefined) return refuse(exchange, 404, `Video ${id} has no content yet`);
  await replyBytes(exchange, file.type, file.bytes, behaviour);
}

function videoJson(task: MediaTask): JsonObject {
  return {
    id: task.id,
    object: 'video',
    model: task.model,
    status: task.word ?? STATES[task.state],
    progress: PROGRESS[task.state],
    created_at: seconds(task.createdAt),
    ...(task.state === 'completed' && { url: task.address }),
    ...(task.state === 'failed' && {
      error: { code: 'generation_failed', message: 'The simulator was told to fail this task.' },
    }),
  };
}

function refuse(exchange: Exchange, status: number, message: string): Promise<void> {
  return replyJson(exchange, status, errorBody('chat-completions', status, message));
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
