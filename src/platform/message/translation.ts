import { Catalogue } from './catalogue.js';
import { chinese } from './chinese/index.js';
import type { Language } from './language.js';

let catalogue: Catalogue | undefined;

/**
 * A message in the given language. A text that no template of the catalogue makes is answered as it is: it is of another
 * program, such as a provider, or it was stored by an older version.
 */
export function translated(text: string, language: Language): string {
  if (language === 'en') return text;
  catalogue ??= new Catalogue(chinese);
  return catalogue.translate(text) ?? text;
}
