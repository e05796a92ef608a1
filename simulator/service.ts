import type { Behaviour } from './behaviour/behaviour.js';
import type { Script } from './behaviour/script.js';
import { UnknownBehaviour } from './behaviour/vocabulary.js';
import { chatCompletions } from './chat/chat-completions.js';
import { chatHandler } from './chat/chat-handler.js';
import { messages } from './chat/messages.js';
import { fimCompletions, textCompletions } from './chat/text-completions.js';
import { ollamaChat } from './chat/ollama-chat.js';
import { responses } from './chat/responses.js';
import { tokenCountRoutes } from './chat/token-count-routes.js';
import { dashscopeRoutes } from './media/dashscope-routes.js';
import { fileRoutes } from './media/generated-file.js';
import { predictionRoutes } from './media/prediction-routes.js';
import { synchronousMediaRoutes } from './media/synchronous-routes.js';
import type { TaskStore } from './media/task-store.js';
import { transcriptionRoutes } from './media/transcription-routes.js';
import { embeddingRoutes } from './retrieval/embedding-routes.js';
import { rerankRoutes } from './retrieval/rerank-routes.js';
import { credentialProblem } from './http/credential.js';
import type { Exchange } from './http/exchange.js';
import type { Holds } from './http/holds.js';
import { objectsOf } from './http/json.js';
import { replyDeliberately } from './http/failure.js';
import { modelListRoutes } from './model-list-routes.js';
import { moderationRoutes } from './moderation-routes.js';
import { errorBody, type Protocol } from './http/protocol.js';
import { replyJson } from './http/reply.js';
import type { Route } from './http/route.js';

const UNKNOWN_MODEL = 'no-such-';

/** Answers the endpoints of the model services. */
export class Service {
  private readonly routes: Route[];

  constructor(
    private readonly script: Script,
    private readonly holds: Holds,
    tasks: TaskStore,
  ) {
    this.routes = [
      chatRoute(/\/chat\/completions$/, 'chat-completions', chatCompletions),
      chatRoute(/\/fim\/completions$/, 'chat-completions', fimCompletions),
      textCompletionRoute,
      chatRoute(/\/messages$/, 'messages', messages),
      chatRoute(/\/responses$/, 'chat-completions', responses),
      chatRoute(/\/api\/chat$/, 'ollama', ollamaChat),
      ...tokenCountRoutes,
      ...embeddingRoutes,
      ...rerankRoutes,
      ...modelListRoutes,
      ...fileRoutes,
      ...synchronousMediaRoutes(tasks),
      ...transcriptionRoutes,
      ...moderationRoutes,
      ...predictionRoutes(tasks),
      ...dashscopeRoutes(tasks),
    ];
  }

  async answer(exchange: Exchange): Promise<void> {
    for (const route of this.routes) {
      const match = route.method === exchange.method ? route.path.exec(exchange.path) : null;
      if (match !== null) return this.answerRoute(exchange, route, match[1] ?? '');
    }
    const problem = `No such endpoint: ${exchange.method} ${exchange.path}`;
    return replyJson(exchange, 404, errorBody('chat-completions', 404, problem));
  }

  private async answerRoute(exchange: Exchange, route: Route, parameter: string): Promise<void> {
    const { protocol } = route;
    const refuse = (status: number, problem: string) =>
      replyJson(exchange, status, errorBody(protocol, status, problem));
    const problem = route.isPublic ? undefined : credentialProblem(exchange, protocol);
    if (problem !== undefined) return refuse(401, problem);
    const model = exchange.recording.model ?? '';
    const behaviour = this.behaviourFor(exchange, model);
    if (behaviour instanceof UnknownBehaviour) return refuse(400, behaviour.message);
    if (behaviour.hold) await this.holds.hold(exchange);
    if (await replyDeliberately(exchange, protocol, behaviour, this.script)) return;
    if (model.startsWith(UNKNOWN_MODEL)) return refuse(404, `The model '${model}' does not exist`);
    await route.handle(exchange, behaviour, parameter);
  }

  private behaviourFor({ path, body }: Exchange, model: string): Behaviour | UnknownBehaviour {
    try {
      return this.script.take({ path, model, tools: objectsOf(body['tools']).length > 0 });
    } catch (error) {
      if (error instanceof UnknownBehaviour) return error;
      throw error;
    }
  }
}

function chatRoute(
  path: RegExp,
  protocol: Protocol,
  chatProtocol: Parameters<typeof chatHandler>[1],
): Route {
  return { method: 'POST', path, protocol, handle: chatHandler(protocol, chatProtocol) };
}

const textCompletion = chatHandler('chat-completions', textCompletions);

/**
 * Refusals of text completions as in the real services: OpenAI refuses a chat model (`chatonly` in the name), Ollama a
 * suffix (`noinsert`).
 */
const textCompletionRoute: Route = {
  method: 'POST',
  path: /\/completions$/,
  protocol: 'chat-completions',
  async handle(exchange, behaviour) {
    const { model = '' } = exchange.recording;
    const { suffix } = exchange.body;
    const refuse = (status: number, problem: string) =>
      replyJson(exchange, status, errorBody('chat-completions', status, problem));
    if (model.includes('chatonly')) {
      return refuse(404, 'This is a chat model and not supported in the v1/completions endpoint.');
    }
    if (model.includes('noinsert') && typeof suffix === 'string') {
      return refuse(400, `registry.ollama.ai/library/${model} does not support insert`);
    }
    await textCompletion(exchange, behaviour);
  },
};
