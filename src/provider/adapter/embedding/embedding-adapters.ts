import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { vendors } from '../vendors.js';
import type { EmbeddingAdapter } from './embedding.adapter.js';
import { OllamaEmbeddingAdapter } from './ollama/ollama.adapter.js';
import { OpenAiCompatibleAdapter } from './openai-compatible/openai-compatible.adapter.js';
import type { OpenAiCompatibleOptions } from './openai-compatible/openai-compatible.adapter.js';

/** DashScope's newest models take 10 texts a call, older ones more. */
const qianwen = { maxInputs: 10, asksDimensions: true } as const;

/** Vendors that are the protocol plus defaults; the limits are those of their documentation. */
const openAiCompatiblePresets: readonly OpenAiCompatibleOptions[] = [
  { ...vendors.openai, maxInputs: 2_048, asksDimensions: true },
  { ...vendors.zhipu, maxInputs: 64, asksDimensions: true },
  { ...vendors.qianwen, ...qianwen },
  { ...vendors.bailian, ...qianwen },
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
