import type { Response } from 'express';
import { chinese } from './chinese/index.js';

/**
 * A text of the API that people read: what happened, then what to do. The template is English with a place {0}, {1} … for
 * each value; a value that is a message is translated with it. Plain data, so that columns of jsonb, worker threads and events
 * carry it as it is to where the language of its reader is known.
 */
export interface Message {
  readonly template: string;
  readonly values: readonly Value[];
}

type Value = string | number | Message;

/**
 * Makes a message: msg`The model ${name} is disabled. Enable it.` The suite of the catalogue finds the templates by the tag
 * and asks for their text in other languages.
 */
export function msg(texts: TemplateStringsArray, ...values: readonly Value[]): Message {
  const template = texts.reduce((start, text, index) => `${start}{${index - 1}}${text}`);
  return { template, values: values.map(storable) };
}

/** A text that another program wrote, or a name, where a message is expected. It is the same in every language. */
export function literal(text: string): Message {
  return msg`${text}`;
}

/** PostgreSQL stores neither a lone surrogate nor the character NUL. */
function storable(value: Value): Value {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\u{FFFD}') : value;
}

const PLACE = /\{(\d+)\}/g;

/** The text of a message by templates in the language of its reader; English without them. */
export function render(
  { template, values }: Message,
  templateFor: (english: string) => string = (english) => english,
): string {
  return templateFor(template).replace(PLACE, (place, index: string) => {
    const value = values[Number(index)] ?? place;
    return typeof value === 'object' ? render(value, templateFor) : String(value);
  });
}

/** The English text, for logs and errors. */
export function english(message: Message): string {
  return render(message);
}

/** The message with its texts changed by the function, those of its nested messages included. */
export function withTexts(message: Message, change: (text: string) => string): Message {
  const values = message.values.map((value) => {
    if (typeof value === 'object') return withTexts(value, change);
    return typeof value === 'string' ? change(value) : value;
  });
  return { template: message.template, values };
}

/** Joins the words of a choice: a, b, or c. */
export function either(words: readonly (string | Message)[]): Message {
  const [first = '', second, ...others] = words;
  if (second === undefined) return msg`${first}`;
  if (others.length === 0) return msg`${first} or ${second}`;
  return msg`${enumeration(words.slice(0, -1))}, or ${others.at(-1) ?? ''}`;
}

/** Joins the words with commas: a, b, c. */
export function enumeration(words: readonly (string | Message)[]): Message {
  return joined(words, (first, rest) => msg`${first}, ${rest}`);
}

/** Joins the words with "or": a or b or c. */
export function anyOf(words: readonly (string | Message)[]): Message {
  return joined(words, (first, rest) => msg`${first} or ${rest}`);
}

/** Joins the words with "and": a and b and c. */
export function allOf(words: readonly (string | Message)[]): Message {
  return joined(words, (first, rest) => msg`${first} and ${rest}`);
}

/** Joins sentences. In Chinese, no space stands between them. */
export function sentences(messages: readonly Message[]): Message {
  return joined(messages, (first, rest) => msg`${first}${msg` ${rest}`}`);
}

/** Joins clauses, such as the problems of several fields. */
export function clauses(messages: readonly Message[]): Message {
  return joined(messages, (first, rest) => msg`${first}${msg`, ${rest}`}`);
}

/** Joins halves, so that thousands of parts are nested a dozen levels deep. */
function joined(
  parts: readonly (string | Message)[],
  join: (first: Message, rest: Message) => Message,
): Message {
  const [first = '', ...others] = parts;
  if (others.length === 0) return typeof first === 'string' ? literal(first) : first;
  const middle = Math.ceil(parts.length / 2);
  return join(joined(parts.slice(0, middle), join), joined(parts.slice(middle), join));
}

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
  if (language !== 'en' && text !== english(message)) {
    response.setHeader('Content-Language', language);
  }
  return text;
}
