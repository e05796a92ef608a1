import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { OpenStreams } from '../../src/platform/access/index.js';
import { CHAT_LIMITS } from '../../src/model/index.js';
import { createAgent } from './agents.js';
import { createKnowledge, settled, upload } from './knowledge.js';
import { createModel, createProvider } from './models.js';
import { setConstants } from './override-constants.js';
import { Plinth } from './plinth.js';
import type { Session } from './session.js';
import { eventually } from './wait.js';

/** Of the models that need one. */
export const SERVICE_KEY = 'key-of-the-service-12345';

/** Of a script for the chat model, and not for the embeddings of a search. */
export const COMPLETION = { match: { path: '/chat/completions' } };

/** A Plinth with a chat model of each protocol (sim-chat, sim-messages, sim-responses, sim-ollama) and an agent with a knowledge base. */
export interface CompatibleApi {
  readonly plinth: Plinth;
  readonly restore: () => void;
  readonly simulator: Simulator;
  readonly admin: Session;
  /** Of sim-chat. */
  readonly modelId: number;
  /** Answers with sim-chat. */
  readonly agentId: number;
  /** Of the agent. */
  readonly knowledgeId: number;
}

export async function openCompatibleApi(
  settings: Record<string, string> = {},
): Promise<CompatibleApi> {
  const simulator = await startSimulator();
  const restore = setConstants(CHAT_LIMITS, { attempts: 1 });
  const plinth = await Plinth.start(settings);
  const admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages', 'custom_responses', 'ollama', 'openai']) {
    await createProvider(admin, code);
  }
  const service = { apiHost: `${simulator.url}/v1`, apiKey: SERVICE_KEY };
  const modelId = await createModel(admin, { ...service, modelName: 'sim-chat' });
  const providerCode = 'custom_messages';
  await createModel(admin, { ...service, modelName: 'sim-messages', providerCode });
  await createModel(admin, {
    ...service,
    ...{ modelName: 'sim-responses', providerCode: 'custom_responses' },
  });
  const local = { apiHost: simulator.url, modelName: 'sim-ollama', providerCode: 'ollama' };
  await createModel(admin, local);
  const embedding = { category: 'vector', modelDimension: 64, modelName: 'sim-embed-64' };
  await createModel(admin, { ...service, ...embedding });
  const knowledgeId = await createKnowledge(admin, {
    name: 'Shop',
    embeddingModel: 'sim-embed-64',
  });
  const file = ['warranty.txt', 'The warranty of every laptop lasts two years.'] as const;
  await upload(admin, knowledgeId, [[...file]]);
  await settled(admin, knowledgeId);
  const known = {
    agentName: 'Shop clerk',
    knowledgeIds: [knowledgeId],
    systemPrompt: 'You are the shop.',
  };
  const { id: agentId } = await createAgent(admin, modelId, known);
  simulator.reset();
  return { plinth, restore, simulator, admin, modelId, agentId, knowledgeId };
}

export async function closeCompatibleApi({
  plinth,
  restore,
  simulator,
}: CompatibleApi): Promise<void> {
  await plinth.stop();
  restore();
  await simulator.close();
}

/** Resolves when no call of the service and no stream of a client is open. */
export async function allClosed({ plinth, simulator }: CompatibleApi): Promise<void> {
  await eventually(
    () => simulator.openConnections(),
    (open) => open === 0,
  );
  await eventually(
    () => openStreams(plinth),
    (open) => open === 0,
  );
}

export function openStreams(plinth: Plinth): number {
  return plinth.app.get(OpenStreams, { strict: false }).size;
}

/** The failure of a call, an error of the SDK's class; throws when it succeeds. */
export async function failureOf<E>(
  type: abstract new (...given: never[]) => E,
  call: Promise<unknown>,
): Promise<E> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof type) return error;
  throw new Error(`Not the failure of an API: ${String(error)}`);
}
