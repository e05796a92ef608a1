import type { AgentService } from '../../agent/index.js';
import type { CallableModel } from '../../model/index.js';
import type { AnthropicModelView } from '../anthropic/anthropic.view.js';
import type { OpenAiModelView } from './openai.view.js';

/** What is known of a model or agent. */
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

export function listedModel(model: CallableModel): ListedModel {
  const { modelName, modelDescribe, providerCode, createTime } = model;
  const { supportsTools, supportsVision, category, contextWindow, maxOutput } = model;
  return {
    ...{ id: modelName, name: modelDescribe || modelName, owner: providerCode },
    ...{ created: createTime, category, contextWindow, maxOutput },
    ...{ calls: supportsTools, sees: supportsVision },
  };
}

/** An agent calls its own tools, and takes none of a client. */
export function listedAgent(agent: Option): ListedModel {
  const { id, agentName, createTime, contextWindow, maxOutput, supportsVision } = agent;
  return {
    ...{ id: `agent-${id}`, name: agentName, owner: 'plinth', created: createTime },
    ...{ category: 'chat', contextWindow, maxOutput, calls: false, sees: supportsVision },
  };
}

type Modalities = readonly [input: readonly string[], output: readonly string[]];

/** What models of a category read and write, in the words of OpenRouter (https://openrouter.ai/docs/models, November 2026). */
const MODALITIES: Readonly<Record<string, Modalities>> = {
  chat: [['text'], ['text']],
  vector: [['text'], ['embeddings']],
  rerank: [['text'], ['rerank']],
  image: [['text'], ['image']],
  audio: [['text'], ['audio']],
  video: [['text'], ['video']],
  transcription: [['audio'], ['text']],
  moderation: [['text'], ['moderation']],
};

/**
 * The form of OpenAI, which has no facts, with those of services that clients of the protocol read (November 2026):
 * `context_length`, `architecture`, `top_provider` and `supported_parameters` of OpenRouter, `context_window` and
 * `max_completion_tokens` of Groq, `max_model_len` of vLLM, `capabilities` of Mistral.
 */
export function openAiModel(model: ListedModel): OpenAiModelView {
  const { id, name, owner, created, category, contextWindow, maxOutput, calls, sees } = model;
  const [read, output] = MODALITIES[category] ?? [['text'], ['text']];
  const input = sees === true ? [...read, 'image'] : read;
  const isChat = category === 'chat';
  return {
    ...{ id, name, object: 'model' as const },
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

/** The form of Anthropic (https://platform.claude.com/docs/en/api/models, its SDK of November 2026). */
export function anthropicModel(model: ListedModel): AnthropicModelView {
  const { id, name, created, contextWindow, maxOutput, sees } = model;
  return {
    ...{ type: 'model' as const, id, display_name: name, created_at: created.toISOString() },
    max_input_tokens: contextWindow,
    max_tokens: maxOutput,
    capabilities: sees === null ? null : capabilities(sees),
    ...{ lifecycle: 'active' as const, line: null, deprecated_at: null, retires_at: null },
  };
}

const yes = { supported: true };
const no = { supported: false };

/** But for images, what POST /v1/messages does with every model: it takes each type of thinking, reads files, and checks JSON of a schema itself. */
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
