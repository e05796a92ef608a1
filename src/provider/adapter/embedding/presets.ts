import { vendors } from '../vendors.js';
import type { OpenAiCompatibleOptions } from './openai-compatible/openai-compatible.adapter.js';

/** DashScope's newest models take 10 texts a call, older ones more. */
const qianwen = { maxInputs: 10, asksDimensions: true } as const;

/** Vendors that are the protocol plus defaults; the limits are those of their documentation. */
export const openAiCompatiblePresets: readonly OpenAiCompatibleOptions[] = [
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
