/** Values of `category` that models are stored with; the last three are reserved and have no adapters. */
export const MODEL_CATEGORIES = [
  'chat',
  'vector',
  'rerank',
  'image',
  'audio',
  'video',
  'text',
  'ppt',
  'music',
] as const;

/** A word of older clients; records and queries use `rerank`. */
export const LEGACY_RERANK = 'reranker';

export function storedCategory(category: string): string {
  return category === LEGACY_RERANK ? 'rerank' : category;
}

/** The categories whose models are called by name, and what each is for. */
export const PURPOSES = {
  chat: 'chat',
  vector: 'embedding',
  rerank: 'reranking',
  image: 'images',
  audio: 'speech',
  video: 'videos',
} as const;
export type CalledCategory = keyof typeof PURPOSES;
