import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { AgentService } from '../../agent/index.js';
import { categoryOf, ModelService, SERVED_CATEGORIES } from '../../model/index.js';
import { USUAL_MODELS_PAGE } from '../anthropic/anthropic.dto.js';
import type { ModelsQuery } from '../anthropic/anthropic.dto.js';
import type { AnthropicModelsView, AnthropicModelView } from '../anthropic/anthropic.view.js';
import { agentIdIn } from '../answer/parameters.js';
import { ParameterError, UnknownModelError } from '../answer/api.errors.js';
import { msg } from '../../platform/message/index.js';
import type { OpenAiModelsView, OpenAiModelView } from './openai.view.js';
import type { CallableModel } from '../../model/index.js';

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
    const listed = await this.listed(caller, SERVED_CATEGORIES);
    return { object: 'list', data: listed.map(openAiModel) };
  }

  /** A page of the models that answer messages, in Anthropic's format. Throws ParameterError for an id that is not in the list. */
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

  /** Throws UnknownModelError for a model that is not in the list. */
  async get(caller: Caller, id: string): Promise<OpenAiModelView> {
    return openAiModel(await this.find(caller, id, SERVED_CATEGORIES));
  }

  /** Throws UnknownModelError for a model that does not answer messages. */
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
  /** Whether more follow in the direction of the page. */
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

/** Facts about a model or agent. */
export interface ListedModel extends Pick<
  CallableModel,
  'category' | 'contextWindow' | 'maxOutput'
> {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly created: Date;
  readonly calls: boolean | null;
  readonly sees: boolean | null;
}

type Option = Awaited<ReturnType<AgentService['callable']>>[number];

function listedModel(model: CallableModel): ListedModel {
  const { modelName, modelDescribe, providerCode, createTime } = model;
  const { supportsTools, supportsVision, category, contextWindow, maxOutput } = model;
  return {
    id: modelName,
    name: modelDescribe || modelName,
    owner: providerCode,
    created: createTime,
    category,
    contextWindow,
    maxOutput,
    calls: supportsTools,
    sees: supportsVision,
  };
}

/** An agent calls only its own tools and accepts none from a client. */
function listedAgent(agent: Option): ListedModel {
  const { id, agentName, createTime, contextWindow, maxOutput, supportsVision } = agent;
  return {
    id: `agent-${id}`,
    name: agentName,
    owner: 'plinth',
    created: createTime,
    category: 'chat',
    contextWindow,
    maxOutput,
    calls: false,
    sees: supportsVision,
  };
}

/**
 * The form of OpenAI, which has no facts, with those of services that clients of the protocol read (November 2026):
 * `context_length`, `architecture`, `top_provider` and `supported_parameters` of OpenRouter, `context_window` and
 * `max_completion_tokens` of Groq, `max_model_len` of vLLM, `capabilities` of Mistral.
 */
function openAiModel(model: ListedModel): OpenAiModelView {
  const { id, name, owner, created, category, contextWindow, maxOutput, calls, sees } = model;
  const [read, output] = categoryOf(category)?.modalities ?? [['text'], ['text']];
  const input = sees === true ? [...read, 'image'] : read;
  const isChat = category === 'chat';
  return {
    id,
    name,
    object: 'model' as const,
    created: Math.floor(created.getTime() / 1_000),
    owned_by: owner,
    category,
    ...(contextWindow !== null && {
      context_length: contextWindow,
      context_window: contextWindow,
      max_model_len: contextWindow,
    }),
    ...(maxOutput !== null && { max_completion_tokens: maxOutput }),
    architecture: {
      modality: `${input.join('+')}->${output.join('+')}`,
      input_modalities: input,
      output_modalities: output,
    },
    ...((contextWindow ?? maxOutput) !== null && {
      top_provider: {
        ...(contextWindow !== null && { context_length: contextWindow }),
        ...(maxOutput !== null && { max_completion_tokens: maxOutput }),
      },
    }),
    capabilities: {
      completion_chat: isChat,
      ...(calls !== null && { function_calling: calls }),
      ...(sees !== null && { vision: sees }),
    },
    ...(calls !== null && isChat && { supported_parameters: calls ? TOOL_PARAMETERS : [] }),
  };
}

const TOOL_PARAMETERS: readonly string[] = ['tools', 'tool_choice'];

/** A model in Anthropic's format (https://platform.claude.com/docs/en/api/models, its SDK of November 2026). */
function anthropicModel(model: ListedModel): AnthropicModelView {
  const { id, name, created, contextWindow, maxOutput, sees } = model;
  return {
    type: 'model' as const,
    id,
    display_name: name,
    created_at: created.toISOString(),
    max_input_tokens: contextWindow,
    max_tokens: maxOutput,
    capabilities: sees === null ? null : capabilities(sees),
    lifecycle: 'active' as const,
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

const yes = { supported: true };
const no = { supported: false };

/** Capabilities of POST /v1/messages with every model, except images: each type of thinking, files, and JSON validated against a schema. */
function capabilities(sees: boolean): object {
  return {
    batch: yes,
    citations: no,
    code_execution: no,
    context_management: {
      ...no,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    effort: { ...no, low: no, medium: no, high: no, max: no, xhigh: null },
    image_input: { supported: sees },
    pdf_input: yes,
    server_tools: { ...no, code_execution: no, web_search: no },
    structured_outputs: yes,
    thinking: { ...yes, types: { adaptive: yes, enabled: yes, disabled: yes, between_tools: no } },
  };
}
