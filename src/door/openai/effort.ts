import type { TranslatedCall } from '../answer/door.request.js';

/** How much a model is to think, in the words of OpenAI: `none` is a word of its own, all others are those of the service. */
export function effortOf(
  word: string | null | undefined,
): Pick<TranslatedCall, 'effort' | 'thinking'> {
  if (!word) return {};
  return word === 'none' ? { thinking: false } : { effort: word };
}
