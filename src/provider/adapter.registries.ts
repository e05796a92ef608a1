import { Inject, Injectable } from '@nestjs/common';
import { OutboundHttp } from '../platform/outbound/index.js';
import { DomainError } from '../platform/error/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { Vendor, AdapterNames } from './adapter/named-adapter.js';
import { MESSAGES_PATH, parseAddress, isResponsesAddress } from './adapter/address.js';
import { chatCompletions } from './adapter/chat/chat-completions.protocol.js';
import type { ChatCompletionsPreset } from './adapter/chat/chat-completions.protocol.js';
import type { ChatAdapter } from './adapter/chat/chat.adapter.js';
import { BEDROCK_MESSAGES, VERTEX_MESSAGES } from './adapter/chat/messages.clouds.js';
import { messages } from './adapter/chat/messages.protocol.js';
import { ollama } from './adapter/chat/ollama.protocol.js';
import { responses } from './adapter/chat/responses.protocol.js';
import { ProtocolAdapter } from './adapter/chat/protocol.adapter.js';
import type { ChatProtocol } from './adapter/chat/protocol.adapter.js';
import type { EmbeddingAdapter } from './adapter/embedding/embedding.adapter.js';
import { OllamaEmbeddingAdapter } from './adapter/embedding/ollama.protocol.js';
import { OpenAiCompatibleAdapter } from './adapter/embedding/openai-compatible.protocol.js';
import type { OpenAiCompatibleOptions } from './adapter/embedding/openai-compatible.protocol.js';
import { QueryDocumentsAdapter, zhipuToken } from './adapter/rerank/query-documents.protocol.js';
import type { QueryDocumentsOptions } from './adapter/rerank/query-documents.protocol.js';
import type { RerankAdapter } from './adapter/rerank/rerank.adapter.js';
import { ImageSdkAdapter } from './adapter/media/image-sdk.protocol.js';
import type { ImageSdkOptions } from './adapter/media/image-sdk.protocol.js';
import { MediaAsyncAdapter } from './adapter/media/media-async.protocol.js';
import { MediaSyncAdapter } from './adapter/media/media-sync.protocol.js';
import type { MediaAdapter } from './adapter/media/media.adapter.js';

const v1 = { prefix: '/v1' };
/** DashScope. Its rerank models have a base of their own, whose address people use for the others, too. */
const dashscope = {
  prefix: '/compatible-mode/v1',
  endings: { '/compatible-api/v1': '/compatible-mode/v1' },
};

const vendors = {
  openai: {
    code: 'openai',
    label: 'OpenAI',
    address: v1,
    defaultAddress: 'https://api.openai.com/v1',
  },
  zhipu: {
    code: 'zhipu',
    label: 'Zhipu',
    address: { prefix: '/api/paas/v4' },
    defaultAddress: 'https://open.bigmodel.cn/api/paas/v4',
  },
  qianwen: {
    code: 'qianwen',
    label: 'Tongyi Qianwen',
    address: dashscope,
    defaultAddress: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
  },
  /** The same service under the code that existing records of embedding and rerank models have. */
  bailian: { code: 'alibailian', label: 'Alibaba Bailian', address: dashscope },
  ppio: {
    code: 'ppio',
    label: 'PPIO',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
  },
  siliconflow: {
    code: 'siliconflow',
    label: 'SiliconFlow',
    address: v1,
    defaultAddress: 'https://api.siliconflow.cn/v1',
  },
  /** The v1 interface has no api-version; a deployment's address keeps the one that it has. */
  azure: {
    code: 'azure',
    label: 'Azure OpenAI',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
  },
  mistral: {
    code: 'mistral',
    label: 'Mistral',
    address: v1,
    defaultAddress: 'https://api.mistral.ai/v1',
  },
  openrouter: {
    code: 'openrouter',
    label: 'OpenRouter',
    address: { prefix: '/api/v1', endings: { '/api': '/api/v1' } },
    defaultAddress: 'https://openrouter.ai/api/v1',
  },
  together: {
    code: 'together',
    label: 'Together AI',
    address: v1,
    defaultAddress: 'https://api.together.xyz/v1',
  },
  fireworks: {
    code: 'fireworks',
    label: 'Fireworks AI',
    address: { prefix: '/inference/v1', endings: { '/inference': '/inference/v1' } },
    defaultAddress: 'https://api.fireworks.ai/inference/v1',
  },
  gemini: {
    code: 'gemini',
    label: 'Google Gemini',
    address: { prefix: '/v1beta/openai' },
    defaultAddress: 'https://generativelanguage.googleapis.com/v1beta/openai',
  },
  volcengine: {
    code: 'volcengine',
    label: 'Volcano Ark',
    address: { prefix: '/api/v3' },
    defaultAddress: 'https://ark.cn-beijing.volces.com/api/v3',
  },
  vllm: { code: 'vllm', label: 'vLLM', address: v1 },
  sglang: { code: 'sglang', label: 'SGLang', address: v1 },
  llamacpp: { code: 'llamacpp', label: 'llama.cpp', address: v1 },
  lmstudio: {
    code: 'lmstudio',
    label: 'LM Studio',
    address: { prefix: '/v1', endings: { '/api/v0': '/v1' } },
  },
  cohere: { code: 'cohere', label: 'Cohere', address: v1 },
  tei: { code: 'tei', label: 'Text Embeddings Inference', address: v1 },
  infinity: { code: 'infinity', label: 'Infinity', address: v1 },
  jina: { code: 'jina', label: 'Jina', address: v1, defaultAddress: 'https://api.jina.ai/v1' },
  voyage: {
    code: 'voyage',
    label: 'Voyage AI',
    address: v1,
    defaultAddress: 'https://api.voyageai.com/v1',
  },
  /** Accepts any service of these protocols. */
  custom: {
    code: 'custom_api',
    label: 'Custom',
    address: { ...v1, foreignEndpoints: ['/messages'] },
  },
} as const satisfies Record<string, Vendor>;

/** Capabilities that most vendors of the protocol share. */
const USUAL = { maxOutputField: 'max_tokens', streamUsage: true, json: 'object-and-text' } as const;
/** The newer name, which the services below require or recommend. */
const NEWER = { ...USUAL, maxOutputField: 'max_completion_tokens' } as const;

/** Capabilities of servers for open models. They constrain the output without showing the schema to the model. */
const SERVER = { ...USUAL, json: 'schema-and-text' } as const;

interface ChatVendor extends ChatCompletionsPreset {
  /** Paths at which the vendor speaks the messages protocol. */
  readonly messagesAt?: RegExp;
}

/** Vendors that are the chat-completions protocol plus defaults. */
const chatCompletionsPresets: readonly ChatVendor[] = [
  { ...vendors.openai, dialect: { ...NEWER, json: 'schema' } },
  {
    code: 'deepseek',
    label: 'DeepSeek',
    address: v1,
    defaultAddress: 'https://api.deepseek.com/v1',
    messagesAt: MESSAGES_PATH,
    dialect: USUAL,
  },
  { ...vendors.zhipu, messagesAt: MESSAGES_PATH, dialect: USUAL },
  {
    code: 'xiaomi',
    label: 'Xiaomi MiMo',
    address: v1,
    defaultAddress: 'https://api.xiaomimimo.com/v1',
    messagesAt: MESSAGES_PATH,
    dialect: NEWER,
  },
  { ...vendors.qianwen, messagesAt: MESSAGES_PATH, dialect: USUAL },
  { ...vendors.ppio, dialect: USUAL },
  { ...vendors.siliconflow, messagesAt: MESSAGES_PATH, dialect: USUAL },
  // The gateway passes requests on to services of which some refuse JSON mode.
  {
    code: 'atlas',
    label: 'Atlas Cloud',
    address: { prefix: '/v1' },
    dialect: { ...USUAL, json: 'text' },
  },
  {
    code: 'minimax',
    label: 'MiniMax',
    address: v1,
    defaultAddress: 'https://api.minimax.io/v1',
    messagesAt: MESSAGES_PATH,
    dialect: { ...USUAL, json: 'text' },
  },
  { ...vendors.azure, dialect: { ...NEWER, json: 'schema' } },
  {
    code: 'moonshot',
    label: 'Moonshot Kimi',
    address: v1,
    defaultAddress: 'https://api.moonshot.cn/v1',
    // `/coding` is the base of the coding plan for the messages protocol, `/coding/v1` that of the other one.
    messagesAt: /\/(anthropic(\/v\d+)?|messages|coding)\/*$/,
    dialect: USUAL,
  },
  {
    code: 'zai',
    label: 'Z.AI',
    address: { prefix: '/api/paas/v4' },
    defaultAddress: 'https://api.z.ai/api/paas/v4',
    messagesAt: MESSAGES_PATH,
    dialect: USUAL,
  },
  { ...vendors.mistral, dialect: SERVER },
  {
    code: 'groq',
    label: 'Groq',
    address: vendors.azure.address,
    defaultAddress: 'https://api.groq.com/openai/v1',
    dialect: NEWER,
  },
  { ...vendors.openrouter, dialect: SERVER },
  {
    code: 'xai',
    label: 'xAI',
    address: v1,
    defaultAddress: 'https://api.x.ai/v1',
    dialect: { ...NEWER, json: 'schema' },
  },
  { ...vendors.together, dialect: SERVER },
  { ...vendors.fireworks, dialect: SERVER },
  { ...vendors.gemini, dialect: SERVER },
  { ...vendors.volcengine, dialect: USUAL },
  { ...vendors.vllm, dialect: SERVER },
  { ...vendors.sglang, dialect: SERVER },
  { ...vendors.llamacpp, dialect: SERVER },
  {
    ...vendors.lmstudio,
    dialect: SERVER,
    modelList: [/\/v1\/chat\/completions$/, '/api/v0/models'],
  },
  // Amazon Bedrock's chat completions at bedrock-runtime (AWS, Amazon Bedrock user guide, 2026-11): a key of Bedrock or SigV4.
  {
    code: 'bedrock',
    label: 'Amazon Bedrock',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
    messagesAt: BEDROCK_MESSAGES,
    dialect: { ...NEWER, json: 'text' },
  },
  // Vertex AI's chat completions (Google Cloud, Vertex AI, OpenAI compatibility, 2026-11), below a project and a location.
  {
    code: 'vertex',
    label: 'Google Vertex AI',
    address: {
      prefix: '/v1',
      endings: { '/endpoints': '/endpoints/openapi' },
    },
    messagesAt: VERTEX_MESSAGES,
    dialect: USUAL,
  },
];

/** Accepts any service of the protocol. */
const customChatCompletions: ChatCompletionsPreset = {
  ...vendors.custom,
  label: 'Custom (chat completions)',
  dialect: { ...USUAL, json: 'schema-and-text' },
};

/** Accepts any service of the messages protocol. */
const customMessages = {
  code: 'custom_messages',
  label: 'Custom (messages)',
  address: { prefix: '/v1', foreignEndpoints: ['/chat/completions'] },
} as const;

/** Services of the Responses protocol. Those of Azure and others are at their own addresses. */
const responsesPresets = [
  {
    code: 'openai_responses',
    label: 'OpenAI (Responses)',
    address: v1,
    defaultAddress: 'https://api.openai.com/v1',
  },
  { code: 'custom_responses', label: 'Custom (Responses)', address: v1 },
] as const;

/** Anthropic itself. */
const anthropic = {
  code: 'anthropic',
  label: 'Anthropic',
  address: v1,
  defaultAddress: 'https://api.anthropic.com/v1',
} as const;

/** All chat adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function chatAdapters(http: OutboundHttp): readonly ChatAdapter[] {
  const adapter = (names: AdapterNames, protocol: ChatProtocol): ChatAdapter =>
    new ProtocolAdapter(http, names, () => protocol);
  return [
    ...chatCompletionsPresets.map(
      (preset) => new ProtocolAdapter(http, preset, protocolsOf(preset)),
    ),
    ...responsesPresets.map((preset) => adapter(preset, responses(preset.address))),
    adapter({ code: 'ollama', label: 'Ollama' }, ollama),
    new ProtocolAdapter(http, customChatCompletions, protocolsOf(customChatCompletions)),
    adapter(customMessages, messages(customMessages.address)),
    adapter(anthropic, messages(anthropic.address)),
  ];
}

/**
 * A vendor of two protocols speaks the one that the path of the address says. One that names the endpoint of the Responses
 * protocol chooses that.
 */
function protocolsOf({ messagesAt, ...preset }: ChatVendor): (address: string) => ChatProtocol {
  const completions = chatCompletions(preset);
  // The rest of such an address is as it is called.
  const named = responses({ prefix: preset.address.prefix });
  const other = messages(v1);
  return (address) => {
    const { pathname } = parseAddress(address);
    if (isResponsesAddress(pathname)) return named;
    return messagesAt?.test(pathname) ? other : completions;
  };
}

/** DashScope's newest models take 10 texts a call, older ones more. */
const qianwenEmbedding = { maxInputs: 10, asksDimensions: true } as const;

/** Vendors that are the protocol plus defaults; the limits are those of their documentation. */
const openAiCompatiblePresets: readonly OpenAiCompatibleOptions[] = [
  { ...vendors.openai, maxInputs: 2_048, asksDimensions: true },
  { ...vendors.zhipu, maxInputs: 64, asksDimensions: true },
  { ...vendors.qianwen, ...qianwenEmbedding },
  { ...vendors.bailian, ...qianwenEmbedding },
  { ...vendors.siliconflow, maxInputs: 32, asksDimensions: true },
  { ...vendors.ppio, maxInputs: 2_048, asksDimensions: false },
  // Many local servers refuse a request with `dimensions`.
  {
    ...vendors.custom,
    label: 'Custom (embeddings)',
    maxInputs: 2_048,
    asksDimensions: false,
  },
  { ...vendors.azure, maxInputs: 2_048, asksDimensions: true },
  // The sum of the tokens is limited as well, to 16,384.
  { ...vendors.mistral, maxInputs: 128, asksDimensions: false },
  { ...vendors.openrouter, maxInputs: 100, asksDimensions: false },
  { ...vendors.together, maxInputs: 128, asksDimensions: false },
  { ...vendors.fireworks, maxInputs: 256, asksDimensions: true },
  { ...vendors.gemini, maxInputs: 100, asksDimensions: true, withoutFormat: true },
  { ...vendors.volcengine, maxInputs: 256, asksDimensions: false },
  {
    ...vendors.cohere,
    address: { prefix: '/compatibility/v1', endings: { '/v2': '/compatibility/v1' } },
    defaultAddress: 'https://api.cohere.ai/compatibility/v1',
    maxInputs: 96,
    asksDimensions: true,
  },
  { ...vendors.jina, maxInputs: 512, asksDimensions: true, withoutFormat: true },
  // The service takes no other format than base64, and answers numbers when none is named.
  {
    ...vendors.voyage,
    maxInputs: 128,
    asksDimensions: true,
    dimensionsField: 'output_dimension',
    withoutFormat: true,
  },
  { ...vendors.vllm, maxInputs: 2_048, asksDimensions: false },
  { ...vendors.sglang, maxInputs: 2_048, asksDimensions: false },
  { ...vendors.llamacpp, maxInputs: 2_048, asksDimensions: false },
  { ...vendors.lmstudio, maxInputs: 2_048, asksDimensions: false },
  // `--max-client-batch-size` is 32 unless the operator of the server raises it.
  { ...vendors.tei, maxInputs: 32, asksDimensions: false },
  { ...vendors.infinity, maxInputs: 2_048, asksDimensions: false },
];

/** All embedding adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function embeddingAdapters(http: OutboundHttp): readonly EmbeddingAdapter[] {
  return [
    ...openAiCompatiblePresets.map((preset) => new OpenAiCompatibleAdapter(http, preset)),
    new OllamaEmbeddingAdapter(http),
  ];
}

/** DashScope has its rerank models below a path of their own; people enter that of the others. */
const qianwenRerank = {
  address: {
    prefix: '/compatible-api/v1',
    endings: { '/compatible-mode/v1': '/compatible-api/v1' },
  },
  endpoint: '/reranks',
  maxDocuments: 500,
  nativeModels: /^gte-rerank/,
} as const;

/** Vendors that are the protocol plus defaults. Where no limit is documented, 100 documents are asked about at a time. */
const queryDocumentsPresets: readonly QueryDocumentsOptions[] = [
  { ...vendors.qianwen, ...qianwenRerank },
  { ...vendors.bailian, ...qianwenRerank },
  { ...vendors.siliconflow, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.zhipu, endpoint: '/rerank', maxDocuments: 128, tokenOf: zhipuToken },
  { ...vendors.custom, label: 'Custom (rerank)', endpoint: '/rerank', maxDocuments: 100 },
  {
    ...vendors.cohere,
    address: { prefix: '/v2', endings: { '/compatibility/v1': '/v2' } },
    defaultAddress: 'https://api.cohere.com/v2',
    endpoint: '/rerank',
    maxDocuments: 1_000,
    dialect: 'cohere',
  },
  { ...vendors.jina, endpoint: '/rerank', maxDocuments: 500 },
  { ...vendors.voyage, endpoint: '/rerank', maxDocuments: 1_000, dialect: 'voyage' },
  // `--max-client-batch-size` is 32 unless the operator of the server raises it.
  {
    ...vendors.tei,
    address: { prefix: '', endings: { '/v1': '' } },
    endpoint: '/rerank',
    maxDocuments: 32,
    dialect: 'tei',
  },
  { ...vendors.vllm, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.sglang, endpoint: '/rerank', maxDocuments: 100 },
  {
    ...vendors.infinity,
    address: { prefix: '' },
    endpoint: '/rerank',
    maxDocuments: 100,
  },
  { ...vendors.llamacpp, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.together, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.openrouter, endpoint: '/rerank', maxDocuments: 100 },
];

/** All rerank adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function rerankAdapters(http: OutboundHttp): readonly RerankAdapter[] {
  return queryDocumentsPresets.map((preset) => new QueryDocumentsAdapter(http, preset));
}

/** Codes of the media endpoints beside chat-completions. A service of one's own is taken for one of this protocol. */
export const mediaSyncPresets = [
  { code: 'media_sync', label: 'Media at once' },
  { code: vendors.openai.code, label: vendors.openai.label },
  { code: vendors.custom.code, label: 'Custom (media)' },
] as const;

const mediaAsyncPresets = [
  { code: 'media_async', label: 'Media as predictions' },
  { code: 'atlas', label: 'Atlas Cloud' },
] as const;

/** The adapter of IMAGE_SDK_URL, whatever apiHost a model has. */
const imageSdkPresets = [
  { code: 'image_sdk', label: 'Text-to-image of DashScope', defaultAddress: '' },
  { code: 'Tongyiwanx', label: 'Tongyi Wanxiang', defaultAddress: '' },
] as const;

/** All media adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function mediaAdapters(
  http: OutboundHttp,
  imageSdk: Pick<ImageSdkOptions, 'address' | 'pollMs'>,
): readonly MediaAdapter[] {
  return [
    ...mediaSyncPresets.map((preset) => new MediaSyncAdapter(http, preset)),
    ...mediaAsyncPresets.map((preset) => new MediaAsyncAdapter(http, preset)),
    ...imageSdkPresets.map((preset) => new ImageSdkAdapter(http, { ...preset, ...imageSdk })),
  ];
}

/** A call to a provider whose code has no adapter of the kind needed. */
export class UnsupportedProviderError extends DomainError {
  readonly code = 500;

  /** `reason` is a sentence on why this code has no adapter, where it is not simply unknown. */
  constructor(providerCode: string, codes: readonly string[], reason?: Message) {
    super(
      sentences([
        msg`Unsupported model category: ${providerCode}.`,
        ...(reason === undefined ? [] : [reason]),
        msg`Choose a provider with one of these codes: ${codes.join(', ')}.`,
      ]),
      { data: { known: codes } },
    );
  }
}

/** Adapters of one kind by provider code. The given list is complete. */
export class AdapterRegistry<A extends { readonly code: string }> {
  private readonly byCode = new Map<string, A>();

  constructor(adapters: readonly A[]) {
    for (const adapter of adapters) {
      if (this.byCode.has(adapter.code)) {
        throw new Error(`Two adapters have the code ${adapter.code}. Remove one from the list.`);
      }
      this.byCode.set(adapter.code, adapter);
    }
  }

  /** Throws UnsupportedProviderError for a code without an adapter. */
  get(code: string): A {
    const adapter = this.byCode.get(code);
    if (adapter === undefined) throw new UnsupportedProviderError(code, this.codes());
    return adapter;
  }

  has(code: string): boolean {
    return this.byCode.has(code);
  }

  /** The codes in the order of the list. */
  codes(): readonly string[] {
    return [...this.byCode.keys()];
  }
}

@Injectable()
export class ChatAdapterRegistry extends AdapterRegistry<ChatAdapter> {
  constructor(http: OutboundHttp) {
    super(chatAdapters(http));
  }
}

@Injectable()
export class EmbeddingAdapterRegistry extends AdapterRegistry<EmbeddingAdapter> {
  constructor(http: OutboundHttp) {
    super(embeddingAdapters(http));
  }
}

@Injectable()
export class RerankAdapterRegistry extends AdapterRegistry<RerankAdapter> {
  constructor(http: OutboundHttp) {
    super(rerankAdapters(http));
  }
}

/** Codes that have an adapter for chat and can have none for media. */
const WITHOUT_MEDIA: ReadonlyMap<string, Message> = new Map([
  [
    'custom_messages',
    msg`The messages protocol has no media; a service of your own is called with custom_api.`,
  ],
  ...responsesPresets.map(
    ({ code }) =>
      [
        code,
        msg`The Responses protocol has no media; choose openai or custom_api for it.`,
      ] as const,
  ),
]);

/** The time within which the task of an image of image_sdk ends. */
const IMAGE_POLL_MS = 120_000;

@Injectable()
export class MediaAdapterRegistry extends AdapterRegistry<MediaAdapter> {
  constructor(http: OutboundHttp, @Inject(CONFIG) config: Config) {
    const imageSdk = { address: config.IMAGE_SDK_URL, pollMs: IMAGE_POLL_MS };
    super(mediaAdapters(http, imageSdk));
  }

  override get(code: string): MediaAdapter {
    const reason = WITHOUT_MEDIA.get(code);
    if (reason !== undefined) throw new UnsupportedProviderError(code, this.codes(), reason);
    return super.get(code);
  }
}
