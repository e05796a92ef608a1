import type { KnowledgeView, RetrievalBody } from '@plinth/client';
import type { Settings } from './base-settings';

/** What a search and an evaluation can set for themselves. */
export interface SearchSettings {
  readonly topK: number;
  readonly threshold: number;
  readonly enableHybrid: boolean;
  readonly hybridAlpha: number;
  readonly enableRerank: boolean;
  readonly rerankModel: string;
}

/** What a test begins with (docs/WIRE.md, Retrieval): its own threshold and topK, the rest of the base. */
export function startOf(base: KnowledgeView): SearchSettings {
  return { ...savedOf(base), topK: 10, threshold: 0.5 };
}

/** What the base searches with in a chat. */
export function savedOf(base: KnowledgeView): SearchSettings {
  return {
    topK: base.retrieveLimit,
    threshold: base.similarityThreshold,
    enableHybrid: base.enableHybrid === 1,
    hybridAlpha: base.hybridAlpha,
    enableRerank: base.enableRerank === 1,
    rerankModel: base.rerankModel,
  };
}

/** The settings of an address over those given. */
export function settingsIn(text: string | undefined, otherwise: SearchSettings): SearchSettings {
  try {
    return { ...otherwise, ...(JSON.parse(text ?? '{}') as Partial<SearchSettings>) };
  } catch {
    return otherwise;
  }
}

export function bodyOf({
  rerankModel,
  ...settings
}: SearchSettings): Omit<RetrievalBody, 'knowledgeId' | 'query'> {
  return { ...settings, ...(rerankModel !== '' && { rerankModel }) };
}

/** As settings of the base. */
export function baseSettingsOf(settings: SearchSettings): Partial<Settings> {
  return {
    retrieveLimit: settings.topK,
    similarityThreshold: settings.threshold,
    enableHybrid: settings.enableHybrid ? 1 : 0,
    hybridAlpha: settings.hybridAlpha,
    enableRerank: settings.enableRerank ? 1 : 0,
    ...(settings.rerankModel !== '' && { rerankModel: settings.rerankModel }),
  };
}
