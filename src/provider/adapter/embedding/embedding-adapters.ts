import type { OutboundHttp } from '../../../platform/outbound/index.js';
import type { EmbeddingAdapter } from './embedding.adapter.js';
import { OllamaEmbeddingAdapter } from './ollama/ollama.adapter.js';
import { OpenAiCompatibleAdapter } from './openai-compatible/openai-compatible.adapter.js';
import { openAiCompatiblePresets } from './presets.js';

/** Every embedding adapter there is. A new vendor is a line of presets.ts, or a folder and a line here. */
export function embeddingAdapters(http: OutboundHttp): readonly EmbeddingAdapter[] {
  return [
    ...openAiCompatiblePresets.map((preset) => new OpenAiCompatibleAdapter(http, preset)),
    new OllamaEmbeddingAdapter(http),
  ];
}
