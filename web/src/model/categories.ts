/** The categories of models that the console offers; the service also keeps older ones. */
export const CATEGORIES = [
  ...(['chat', 'vector', 'rerank'] as const),
  ...(['image', 'audio', 'video'] as const),
  ...(['transcription', 'moderation'] as const),
] as const;
export type Category = (typeof CATEGORIES)[number];

export function isCategory(text: string): text is Category {
  return (CATEGORIES as readonly string[]).includes(text);
}
