import type { OutboundHttp } from '../../platform/outbound/index.js';
import { msg } from '../../platform/message/index.js';
import { isRecord, recordIn, textIn, wholeNumberIn } from './vendor-json.js';
import type { JsonRecord } from './vendor-json.js';
import { getJson } from './model-call.js';
import type { ModelCallOptions, ModelConnection } from './model-call.js';
import { maskSecrets } from './safe-text.js';
import { protocolError } from './upstream.error.js';

/** A model as its service lists it. Absent fields were not reported. */
export interface OfferedModel {
  /** The id that calls name it by. */
  readonly id: string;
  readonly label?: string;
  readonly category?: 'chat' | 'vector' | 'rerank' | 'image' | 'audio' | 'video';
  /** Tokens in all. */
  readonly contextWindow?: number;
  /** Tokens of an answer. */
  readonly maxOutput?: number;
  readonly supportsTools?: boolean;
  readonly supportsVision?: boolean;
  /** US dollars per million tokens. */
  readonly inputPrice?: number;
  readonly outputPrice?: number;
  readonly cachedInputPrice?: number;
  readonly cacheWritePrice?: number;
  /** US dollars per search. */
  readonly webSearchPrice?: number;
}

/** A list of 400 models with descriptions has 1 MiB. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const MAX_ID_CHARS = 200;
/** The bound exceeds what any service of one vendor offers. */
export const MAX_OFFERED_MODELS = 1_000;

/** The models that a service offers, in its order, at most MAX_OFFERED_MODELS. Fails like getJson, and with UpstreamError (protocol). */
export async function listModels(
  http: OutboundHttp,
  request: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  connection: ModelConnection,
  options: ModelCallOptions,
): Promise<readonly OfferedModel[]> {
  const authorized = { ...request, secrets: connection };
  const models = toOfferedModels(await getJson(http, authorized, options, MAX_LIST_BYTES));
  // A list is shown to administrators, who may not see the key.
  return JSON.parse(maskSecrets(JSON.stringify(models), connection)) as OfferedModel[];
}

/** The address of the list beside an endpoint. */
export function besideEndpoint(endpoint: string, ending: RegExp, list: string): URL {
  const url = new URL(endpoint);
  url.pathname = url.pathname.replace(ending, list);
  return url;
}

/** Maps the list of a service: `data` (most), `models` (Ollama, Cohere, Gemini), or the list itself (Together). */
export function toOfferedModels(answer: unknown): readonly OfferedModel[] {
  const list = isRecord(answer) ? (answer['data'] ?? answer['models']) : answer;
  if (!Array.isArray(list))
    throw protocolError(msg`The provider answered without a list of models.`);
  const models = new Map<string, OfferedModel>();
  for (const entry of list) {
    if (models.size === MAX_OFFERED_MODELS) break;
    const model = isRecord(entry) ? toOfferedModel(entry) : undefined;
    if (model && !models.has(model.id)) models.set(model.id, model);
  }
  return [...models.values()];
}

function toOfferedModel(entry: JsonRecord): OfferedModel | undefined {
  // Gemini names resources.
  const id =
    first(entry, textIn, ['id', 'name', 'model'])
      ?.trim()
      .replace(/^models\//, '') ?? '';
  if (id === '' || id.length > MAX_ID_CHARS) return undefined;
  const label = first(entry, textIn, ['display_name', 'displayName', 'name'])?.trim() ?? '';
  const facts = {
    label: label === '' || label === id || label === `models/${id}` ? undefined : label,
    category: categoryOf(entry, id),
    contextWindow: windowIn(entry),
    maxOutput: outputIn(entry),
    supportsTools: toolsIn(entry),
    supportsVision: visionIn(entry),
    ...pricesIn(entry),
  };
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  return { id, ...(Object.fromEntries(entries) as Omit<OfferedModel, 'id'>) };
}

/** The first of the fields that is there and not 0. */
function first<T>(
  record: JsonRecord | undefined,
  read: (record: JsonRecord, field: string) => T | undefined,
  fields: readonly string[],
): T | undefined {
  if (!record) return undefined;
  return fields.map((field) => read(record, field)).find((value) => value);
}

/** Sources, 2026-11: the references of the services, each field with the one that has it. */
function windowIn(entry: JsonRecord): number | undefined {
  const fields = [
    'context_length', // OpenRouter, Together, Fireworks, Moonshot, Cohere
    'context_window', // Groq
    'max_model_len', // vLLM, SGLang
    'max_context_length', // Mistral, LM Studio
    'max_input_tokens', // Anthropic
    'inputTokenLimit', // Gemini
  ];
  return (
    first(entry, wholeNumberIn, fields) ??
    first(recordIn(entry, 'meta'), wholeNumberIn, ['n_ctx', 'n_ctx_train']) // llama.cpp
  );
}

function outputIn(entry: JsonRecord): number | undefined {
  const fields = [
    'max_completion_tokens', // Groq
    'max_output_tokens',
    'outputTokenLimit', // Gemini
    'max_tokens', // Anthropic
  ];
  return (
    first(recordIn(entry, 'top_provider'), wholeNumberIn, ['max_completion_tokens']) ?? // OpenRouter
    first(entry, wholeNumberIn, fields)
  );
}

function flagIn(record: JsonRecord | undefined, field: string): boolean | undefined {
  const value = record?.[field];
  if (isRecord(value)) return flagIn(value, 'supported'); // Anthropic
  return typeof value === 'boolean' ? value : undefined;
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter((one) => typeof one === 'string');
}

function toolsIn(entry: JsonRecord): boolean | undefined {
  const { supported_parameters: parameters, capabilities } = entry;
  return (
    flagIn(entry, 'supports_tools') ?? // Fireworks
    flagIn(recordIn(entry, 'capabilities'), 'function_calling') ?? // Mistral
    textsOf(parameters)?.includes('tools') ?? // OpenRouter
    textsOf(capabilities)?.some((one) => one === 'tool_use' || one === 'tools') // LM Studio, Ollama
  );
}

function visionIn(entry: JsonRecord): boolean | undefined {
  const inputs = textsOf(recordIn(entry, 'architecture')?.['input_modalities']);
  return (
    flagIn(entry, 'supports_image_input') ?? // Fireworks
    flagIn(entry, 'supports_image_in') ?? // Moonshot
    flagIn(recordIn(entry, 'capabilities'), 'vision') ?? // Mistral
    flagIn(recordIn(entry, 'capabilities'), 'image_input') ?? // Anthropic
    inputs?.includes('image') ?? // OpenRouter
    (textIn(entry, 'type') === 'vlm' ? true : undefined) // LM Studio
  );
}

const CATEGORY_OF_TYPE: readonly (readonly [RegExp, NonNullable<OfferedModel['category']>])[] = [
  [/embed/i, 'vector'],
  [/rerank/i, 'rerank'],
  [/video|sora|veo-/i, 'video'],
  [/^image|dall-e|gpt-image|imagen|flux|stable-diffusion/i, 'image'],
  [/^audio|speech|tts|whisper|transcri/i, 'audio'],
];

/** The category that the service reports or, without one, that the id suggests. Undefined when unclear. */
function categoryOf(entry: JsonRecord, id: string): OfferedModel['category'] {
  const type = textIn(entry, 'type') ?? '';
  if (/^(chat|language|llm|vlm)$/i.test(type)) return 'chat';
  const outputs = textsOf(recordIn(entry, 'architecture')?.['output_modalities']);
  if (outputs?.includes('text')) return 'chat';
  const about = [type, ...(textsOf(entry['endpoints']) ?? []), id];
  for (const text of about) {
    const category = CATEGORY_OF_TYPE.find(([word]) => word.test(text))?.[1];
    if (category !== undefined) return category;
    if (text === 'chat') return 'chat';
  }
  return undefined;
}

const MILLION = 1_000_000;

type Prices = Pick<
  OfferedModel,
  'inputPrice' | 'outputPrice' | 'cachedInputPrice' | 'cacheWritePrice' | 'webSearchPrice'
>;

/** OpenRouter has dollars per token, as texts; Together dollars per million tokens, as numbers. */
function pricesIn(entry: JsonRecord): { readonly [Price in keyof Prices]: number | undefined } {
  const pricing = recordIn(entry, 'pricing');
  if (!pricing) return {};
  return {
    inputPrice: perToken(pricing['prompt']) ?? perMillion(pricing['input']),
    outputPrice: perToken(pricing['completion']) ?? perMillion(pricing['output']),
    cachedInputPrice: perToken(pricing['input_cache_read']) ?? perMillion(pricing['cached_input']),
    cacheWritePrice: perToken(pricing['input_cache_write']),
    webSearchPrice: perCall(pricing['web_search']),
  };
}

function perToken(price: unknown): number | undefined {
  if (typeof price !== 'string' || price.trim() === '') return undefined;
  return perMillion(Number(price) * MILLION);
}

function perCall(price: unknown): number | undefined {
  return typeof price === 'string' && price.trim() !== '' ? perMillion(Number(price)) : undefined;
}

/** The price per million tokens, with the 6 decimals that are stored. */
function perMillion(price: unknown): number | undefined {
  if (typeof price !== 'number' || !Number.isFinite(price) || price < 0) return undefined;
  return Math.round(price * MILLION) / MILLION;
}
