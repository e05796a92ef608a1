import type { Response } from 'express';
import { chinese } from './chinese/index.js';
import { english, render } from './message.js';
import type { Message } from './message.js';

/** A language of the API's messages, as the header Content-Language names it. */
export type Language = 'en' | 'zh-CN';

/** Ranges of a header that are read; browsers send fewer than ten. */
const MAX_RANGES = 50;

/**
 * The language for a header Accept-Language (RFC 9110, 12.5.4): of English and Chinese the one that the client prefers; English
 * without a header, and when it names neither.
 */
export function languageOf(header: string | undefined): Language {
  if (header === undefined || !/zh/i.test(header)) return 'en';
  let best: { readonly language: Language; readonly quality: number } | undefined;
  for (const range of header.split(',', MAX_RANGES)) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const language = languageOfTag(name);
    const quality = qualityOf(parameters);
    if (language && quality > (best?.quality ?? 0)) best = { language, quality };
  }
  return best?.language ?? 'en';
}

function languageOfTag(tag: string): Language | undefined {
  if (tag === '*') return 'en';
  const [language] = tag.split(/[-_]/);
  if (language === 'zh') return 'zh-CN';
  return language === 'en' ? 'en' : undefined;
}

/** 0 for a weight that cannot be read, so that its range is ignored. */
function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  if (weight === undefined) return 1;
  return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
}

/**
 * A message in the given language. A template that the catalogue does not have, such as one that an older version stored, stays
 * English.
 */
export function textIn(language: Language, message: Message): string {
  if (language === 'en') return english(message);
  return render(message, (template) => chinese.get(template) ?? template);
}

/**
 * The message of an answer in the language of its request, which the header Content-Language then names where it is not
 * English. Caches keep the answers of several languages apart.
 */
export function textFor(response: Response, message: Message): string {
  response.vary('Accept-Language');
  const language = languageOf(response.req.headers['accept-language']);
  const text = textIn(language, message);
  if (text !== english(message)) response.setHeader('Content-Language', language);
  return text;
}
