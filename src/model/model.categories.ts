import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

interface ModelCategory {
  /** What its models are for, in messages. */
  readonly purpose: Message;
  /** The adapters that call its models. */
  readonly adapters: 'chat' | 'embedding' | 'rerank' | 'media';
  /** Input and output in OpenRouter's terms (https://openrouter.ai/docs/models, November 2026). */
  readonly modalities: readonly [input: readonly string[], output: readonly string[]];
  /** Whether routes below /v1 call its models. */
  readonly isServed: boolean;
}

/** Records of older clients have these; there are no adapters for them. */
const RESERVED = null;

/** The categories of models, in the order of the API. */
const CATEGORIES = {
  chat: {
    purpose: msg`chat`,
    adapters: 'chat',
    modalities: [['text'], ['text']],
    isServed: true,
  },
  vector: {
    purpose: msg`embedding`,
    adapters: 'embedding',
    modalities: [['text'], ['embeddings']],
    isServed: true,
  },
  rerank: {
    purpose: msg`reranking`,
    adapters: 'rerank',
    modalities: [['text'], ['rerank']],
    isServed: true,
  },
  image: {
    purpose: msg`images`,
    adapters: 'media',
    modalities: [['text'], ['image']],
    isServed: true,
  },
  audio: {
    purpose: msg`speech`,
    adapters: 'media',
    modalities: [['text'], ['audio']],
    isServed: true,
  },
  video: {
    purpose: msg`videos`,
    adapters: 'media',
    modalities: [['text'], ['video']],
    isServed: false,
  },
  text: RESERVED,
  ppt: RESERVED,
  music: RESERVED,
  transcription: {
    purpose: msg`transcription`,
    adapters: 'media',
    modalities: [['audio'], ['text']],
    isServed: true,
  },
  moderation: {
    purpose: msg`moderation`,
    adapters: 'media',
    modalities: [['text'], ['moderation']],
    isServed: true,
  },
} as const satisfies Record<string, ModelCategory | null>;

type Category = keyof typeof CATEGORIES;

/** Categories whose models are called by name. */
export type CalledCategory = {
  [Name in Category]: (typeof CATEGORIES)[Name] extends null ? never : Name;
}[Category];

/** Categories of models that media adapters call. */
export type MediaCategory = {
  [Name in CalledCategory]: (typeof CATEGORIES)[Name]['adapters'] extends 'media' ? Name : never;
}[CalledCategory];

/** A word of older clients; records and queries use `rerank`. */
const LEGACY_RERANK = 'reranker';

export function storedCategory(category: string): string {
  return category === LEGACY_RERANK ? 'rerank' : category;
}

/** What models of the category are for. */
export function purposeOf(category: CalledCategory): Message {
  return CATEGORIES[category].purpose;
}

/** What is known of a category; undefined for a reserved one. */
export function categoryOf(category: string): ModelCategory | undefined {
  const name = storedCategory(category);
  return Object.hasOwn(CATEGORIES, name) ? (CATEGORIES[name as Category] ?? undefined) : undefined;
}

/** Categories that requests name. */
export const MODEL_CATEGORIES: readonly string[] = [...Object.keys(CATEGORIES), LEGACY_RERANK];

/** Categories of the models that routes below /v1 call. */
export const SERVED_CATEGORIES: readonly string[] = Object.keys(CATEGORIES).filter(
  (name) => categoryOf(name)?.isServed,
);

/**
 * Whether models of the category can have further keys and fallbacks. Media cannot: they are made by tasks, which are asked for
 * their result where and with which key they were begun.
 */
export function hasFallbacks(category: string): boolean {
  const adapters = categoryOf(category)?.adapters;
  return adapters !== undefined && adapters !== 'media';
}
