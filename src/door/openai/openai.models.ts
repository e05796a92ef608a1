import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { AgentService } from '../../agent/index.js';
import { ModelService } from '../../model/index.js';
import type { AnthropicModelsView, AnthropicModelView } from '../anthropic/anthropic.view.js';
import { agentIdIn } from '../answer/agent-answers.js';
import { UnknownModelError } from '../answer/door.errors.js';
import { OpenAiModelsView, OpenAiModelView } from './openai.view.js';

/** The categories of models that the routes below /v1 call. */
const CATEGORIES = ['chat', 'vector', 'rerank', 'image', 'audio'];

/**
 * The models and agents that the caller can use, by the ids that requests name them by. The id of a model is its modelName:
 * of several models with one name, requests call the first of their category. A name in the form agent-<digits> stands for an
 * agent, so a model that has it cannot be called here.
 */
@Injectable()
export class OpenAiModels {
  constructor(
    private readonly models: ModelService,
    private readonly agents: AgentService,
  ) {}

  async list(caller: Caller, categories = CATEGORIES): Promise<OpenAiModelsView> {
    const models = await this.models.callable(caller, categories);
    const agents = await this.agents.callable(caller);
    return {
      object: 'list',
      data: [
        ...models
          .filter(({ modelName }) => agentIdIn(modelName) === undefined)
          .map(({ modelName, modelDescribe, providerCode, createTime }) => ({
            id: modelName,
            name: modelDescribe || modelName,
            object: 'model',
            created: secondsOf(createTime),
            owned_by: providerCode,
          })),
        ...agents.map(({ id, agentName, createTime }) => ({
          id: `agent-${id}`,
          name: agentName,
          object: 'model',
          created: secondsOf(createTime),
          owned_by: 'plinth',
        })),
      ],
    };
  }

  /** Those that answer messages, in the form of Anthropic. */
  async listForMessages(caller: Caller): Promise<AnthropicModelsView> {
    const { data } = await this.list(caller, ['chat']);
    return {
      data: data.map(({ id, name, created }) => ({
        ...{ type: 'model', id, display_name: name },
        created_at: new Date(created * 1_000).toISOString(),
      })),
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
  }

  /** Throws UnknownModelError for one that is not in the list. */
  async get(caller: Caller, id: string): Promise<OpenAiModelView> {
    return named(id, await this.list(caller));
  }

  /** Throws UnknownModelError for one that is not in the list of those that answer messages. */
  async getForMessages(caller: Caller, id: string): Promise<AnthropicModelView> {
    return named(id, await this.listForMessages(caller));
  }
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

function named<Model extends { readonly id: string }>(
  id: string,
  { data }: { readonly data: readonly Model[] },
): Model {
  const found = data.find((model) => model.id === id);
  if (!found) throw new UnknownModelError(id);
  return found;
}
