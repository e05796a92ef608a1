import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { AgentService } from '../../agent/index.js';
import { ModelService } from '../../model/index.js';
import { USUAL_MODELS_PAGE } from '../anthropic/anthropic.dto.js';
import type { ModelsQuery } from '../anthropic/anthropic.dto.js';
import type { AnthropicModelsView, AnthropicModelView } from '../anthropic/anthropic.view.js';
import { agentIdIn } from '../answer/agent-answers.js';
import { ParameterError, UnknownModelError } from '../answer/api.errors.js';
import { msg } from '../../platform/message/index.js';
import { anthropicModel, listedAgent, listedModel, openAiModel } from './model-facts.js';
import type { ListedModel } from './model-facts.js';
import type { OpenAiModelsView, OpenAiModelView } from './openai.view.js';

/** The categories of models that the routes below /v1 call. */
const CATEGORIES = ['chat', 'vector', 'rerank', 'image', 'audio', 'transcription', 'moderation'];

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

  async list(caller: Caller): Promise<OpenAiModelsView> {
    const listed = await this.listed(caller, CATEGORIES);
    return { object: 'list', data: listed.map(openAiModel) };
  }

  /** A page of those that answer messages, in the form of Anthropic. Throws ParameterError for an id that is not in the list. */
  async listForMessages(caller: Caller, query: ModelsQuery): Promise<AnthropicModelsView> {
    const { rows, hasMore } = await this.page(caller, query, ['chat']);
    return {
      data: rows.map(anthropicModel),
      has_more: hasMore,
      first_id: rows[0]?.id ?? null,
      last_id: rows.at(-1)?.id ?? null,
    };
  }

  /** A page of models of the categories, and of agents. Throws ParameterError for an id that is not in the list. */
  async page(
    caller: Caller,
    query: ModelsQuery,
    categories: readonly string[],
  ): Promise<ModelPage> {
    return pageOf(await this.listed(caller, categories), query);
  }

  /** A model of the categories, or an agent. Throws UnknownModelError for one that is not in the list. */
  async find(caller: Caller, id: string, categories: readonly string[]): Promise<ListedModel> {
    return named(id, await this.listed(caller, categories));
  }

  /** Throws UnknownModelError for one that is not in the list. */
  async get(caller: Caller, id: string): Promise<OpenAiModelView> {
    return openAiModel(await this.find(caller, id, CATEGORIES));
  }

  /** Throws UnknownModelError for one that is not in the list of those that answer messages. */
  async getForMessages(caller: Caller, id: string): Promise<AnthropicModelView> {
    return anthropicModel(await this.find(caller, id, ['chat']));
  }

  private async listed(caller: Caller, categories: readonly string[]): Promise<ListedModel[]> {
    const models = await this.models.callable(caller, categories);
    const agents = await this.agents.callable(caller);
    return [
      ...models.filter(({ modelName }) => agentIdIn(modelName) === undefined).map(listedModel),
      ...agents.map(listedAgent),
    ];
  }
}

function named(id: string, models: readonly ListedModel[]): ListedModel {
  const model = models.find((one) => one.id === id);
  if (!model) throw new UnknownModelError(id);
  return model;
}

export interface ModelPage {
  readonly rows: readonly ListedModel[];
  /** Whether there are more in the direction of the page. */
  readonly hasMore: boolean;
}

function pageOf(
  models: readonly ListedModel[],
  { limit = USUAL_MODELS_PAGE, after_id: after, before_id: before }: ModelsQuery,
): ModelPage {
  if (before) {
    const end = positionOf('before_id', before, models);
    const start = Math.max(0, end - limit);
    return { rows: models.slice(start, end), hasMore: start > 0 };
  }
  const start = after ? positionOf('after_id', after, models) + 1 : 0;
  return { rows: models.slice(start, start + limit), hasMore: start + limit < models.length };
}

function positionOf(param: string, id: string, models: readonly ListedModel[]): number {
  const at = models.findIndex((one) => one.id === id);
  if (at >= 0) return at;
  throw new ParameterError(
    param,
    msg`The parameter ${param} names no model of the list. Begin again with the first page.`,
  );
}
