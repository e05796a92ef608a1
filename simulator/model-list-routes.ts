import type { Exchange } from './http/exchange.js';
import type { JsonObject } from './http/json.js';
import { replyJson } from './http/reply.js';
import type { Route } from './http/route.js';

const MODELS = [
  'sim-chat',
  'sim-chat-paced',
  'sim-reasoner',
  'sim-reasoner-paced',
  'sim-coder',
  'sim-coder-paced',
  'sim-embedding-384',
  'sim-embedding-1024',
  'sim-rerank',
  'sim-image',
  'sim-speech',
  'sim-video',
];
const CREATED = new Date('2025-01-01T00:00:00Z');

/** The models worth showing; any other name works too. */
export const modelListRoutes: Route[] = [
  {
    method: 'GET',
    path: /\/models$/,
    protocol: 'chat-completions',
    handle: (exchange, behaviour) => replyJson(exchange, 200, modelList(exchange), behaviour),
  },
  {
    method: 'GET',
    path: /\/api\/tags$/,
    protocol: 'ollama',
    handle: (exchange, behaviour) =>
      replyJson(exchange, 200, { models: MODELS.map(localModel) }, behaviour),
  },
];

/** Callers of the messages protocol give themselves away by its version header. */
function modelList(exchange: Exchange): JsonObject {
  if (exchange.header('anthropic-version') === '') {
    const created = CREATED.getTime() / 1000;
    const data = MODELS.map((id) => ({ id, object: 'model', created, owned_by: 'simulator' }));
    return { object: 'list', data };
  }
  const created_at = CREATED.toISOString();
  return {
    data: MODELS.map((id) => ({ type: 'model', id, display_name: id, created_at })),
    has_more: false,
    first_id: MODELS.at(0) ?? null,
    last_id: MODELS.at(-1) ?? null,
  };
}

function localModel(name: string): JsonObject {
  return {
    name: `${name}:latest`,
    model: `${name}:latest`,
    modified_at: CREATED.toISOString(),
    size: 0,
    digest: '',
    details: { format: 'simulated', family: 'sim' },
  };
}
