import { NO_EFFORT } from '../../provider/index.js';
import type { TranslatedCall } from './api.request.js';

/** How much a model is to think, in the client's word. */
export function effortOf(
  word: string | null | undefined,
): Pick<TranslatedCall, 'effort' | 'thinking'> {
  if (!word) return {};
  return { effort: word, ...(word === NO_EFFORT && { thinking: false }) };
}
