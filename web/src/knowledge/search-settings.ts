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

/** What the base searches with in a chat; a test begins with it. */
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
    rerankModel: settings.rerankModel,
  };
}
