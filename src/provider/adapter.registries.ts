import { Inject, Injectable } from '@nestjs/common';
import { OutboundHttp } from '../platform/outbound/index.js';
import { DomainError } from '../platform/error/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { Vendor, AdapterNames } from './adapter/named-adapter.js';
import { parseAddress } from './adapter/address.js';
import { chatCompletions } from './adapter/chat/chat-completions.protocol.js';
import type { ChatCompletionsPreset } from './adapter/chat/chat-completions.protocol.js';
import type { ChatAdapter } from './adapter/chat/chat.adapter.js';
import { messages } from './adapter/chat/messages.protocol.js';
import { ollama } from './adapter/chat/ollama.protocol.js';
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
  openai: { code: 'openai', label: 'OpenAI', address: v1 },
  zhipu: { code: 'zhipu', label: 'Zhipu', address: { prefix: '/api/paas/v4' } },
  qianwen: { code: 'qianwen', label: 'Tongyi Qianwen', address: dashscope },
  /** The same service under the code that existing records of embedding and rerank models have. */
  bailian: { code: 'alibailian', label: 'Alibaba Bailian', address: dashscope },
  ppio: {
    code: 'ppio',
    label: 'PPIO',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
  },
  siliconflow: { code: 'siliconflow', label: 'SiliconFlow', address: v1 },
  /** Any service of these protocols. */
  custom: {
    code: 'custom_api',
    label: 'Custom',
    address: { ...v1, foreignEndpoints: ['/messages'] },
  },
} as const satisfies Record<string, Vendor>;

/** What most vendors of the protocol understand. */
const USUAL = { maxOutputField: 'max_tokens', streamUsage: true, json: 'object-and-text' } as const;
/** The newer name, which the services below require or recommend. */
const NEWER = { ...USUAL, maxOutputField: 'max_completion_tokens' } as const;

/** Vendors that are the chat-completions protocol plus defaults. */
const chatCompletionsPresets: readonly ChatCompletionsPreset[] = [
  { ...vendors.openai, dialect: { ...NEWER, json: 'schema' } },
  { code: 'deepseek', label: 'DeepSeek', address: { prefix: '/v1' }, dialect: USUAL },
  { ...vendors.zhipu, dialect: USUAL },
  { code: 'xiaomi', label: 'Xiaomi MiMo', address: { prefix: '/v1' }, dialect: NEWER },
  { ...vendors.qianwen, dialect: USUAL },
  { ...vendors.ppio, dialect: USUAL },
  { ...vendors.siliconflow, dialect: USUAL },
  // It passes requests on to services of which some refuse JSON mode.
  {
    code: 'atlas',
    label: 'Atlas Cloud',
    address: { prefix: '/v1' },
    dialect: { ...USUAL, json: 'text' },
  },
  // Amazon Bedrock's chat completions at bedrock-runtime (AWS, Amazon Bedrock user guide, 2026-11): a key of Bedrock or SigV4.
  {
    code: 'bedrock',
    label: 'Amazon Bedrock',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
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
    dialect: USUAL,
  },
];

/** Any service of the protocol. */
const customChatCompletions: ChatCompletionsPreset = {
  ...vendors.custom,
  label: 'Custom (chat completions)',
  dialect: { ...USUAL, json: 'schema-and-text' },
};

/** Any service of the messages protocol. */
const customMessages = {
  code: 'custom_messages',
  label: 'Custom (messages)',
  address: { prefix: '/v1', foreignEndpoints: ['/chat/completions'] },
} as const;

/** MiniMax serves the messages protocol below `/anthropic` and chat-completions elsewhere. */
const minimax = {
  code: 'minimax',
  label: 'MiniMax',
  messagesPath: /\/anthropic(\/v1)?(\/messages)?\/*$/,
  messages: { prefix: '/anthropic/v1', endings: { '/anthropic': '/anthropic/v1' } },
  completions: { address: { prefix: '/v1' }, dialect: { ...USUAL, json: 'text' } },
} as const;

/** All chat adapters. A new vendor is a line of the presets, or a folder and a line here. */
export function chatAdapters(http: OutboundHttp): readonly ChatAdapter[] {
  const adapter = (names: AdapterNames, protocol: ChatProtocol): ChatAdapter =>
    new ProtocolAdapter(http, names, () => protocol);
  return [
    ...chatCompletionsPresets.map((preset) => adapter(preset, chatCompletions(preset))),
    new ProtocolAdapter(http, minimax, minimaxProtocols()),
    adapter({ code: 'ollama', label: 'Ollama' }, ollama),
    adapter(customChatCompletions, chatCompletions(customChatCompletions)),
    adapter(customMessages, messages(customMessages.address)),
  ];
}

function minimaxProtocols(): (address: string) => ChatProtocol {
  const below = messages(minimax.messages);
  const elsewhere = chatCompletions(minimax.completions);
  return (address) =>
    minimax.messagesPath.test(parseAddress(address).pathname) ? below : elsewhere;
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
} as const;

/** Vendors that are the protocol plus defaults. Where no limit is documented, 100 documents are asked about at a time. */
const queryDocumentsPresets: readonly QueryDocumentsOptions[] = [
  { ...vendors.qianwen, ...qianwenRerank },
  { ...vendors.bailian, ...qianwenRerank },
  { ...vendors.siliconflow, endpoint: '/rerank', maxDocuments: 100 },
  { ...vendors.zhipu, endpoint: '/rerank', maxDocuments: 128, tokenOf: zhipuToken },
  { ...vendors.custom, label: 'Custom (rerank)', endpoint: '/rerank', maxDocuments: 100 },
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

/** Called at IMAGE_SDK_URL, whatever apiHost a model has. */
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

  /** `reason` is a sentence on why this code can have none, where there is more to say than that it is unknown. */
  constructor(providerCode: string, known: readonly string[], reason?: Message) {
    super(
      sentences([
        msg`Unsupported model category: ${providerCode}.`,
        ...(reason === undefined ? [] : [reason]),
        msg`Choose a provider with one of these codes: ${known.join(', ')}.`,
      ]),
      { data: { known } },
    );
  }
}

/** Adapters of one kind by provider code. The list given is the whole list. */
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

  /** In the order of the list. */
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
]);

@Injectable()
export class MediaAdapterRegistry extends AdapterRegistry<MediaAdapter> {
  constructor(http: OutboundHttp, @Inject(CONFIG) config: Config) {
    const imageSdk = { address: config.IMAGE_SDK_URL, pollMs: config.MEDIA_POLL_SECONDS * 1_000 };
    super(mediaAdapters(http, imageSdk));
  }

  override get(code: string): MediaAdapter {
    const reason = WITHOUT_MEDIA.get(code);
    if (reason !== undefined) throw new UnsupportedProviderError(code, this.codes(), reason);
    return super.get(code);
  }
}
