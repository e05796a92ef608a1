import type { KnowledgeView, RetrievalBody } from '@plinth/client';
import type { Settings } from './base-settings';

/** Settings that a search or evaluation can override. */
export interface SearchSettings {
  readonly topK: number;
  readonly threshold: number;
  readonly enableHybrid: boolean;
  readonly hybridAlpha: number;
  readonly enableRerank: boolean;
  readonly rerankModel: string;
}

/** Search settings of the base, used in chats and as the defaults of tests. */
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

/** Overrides settings with those in the URL. */
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

/** Converts search settings to settings of the base. */
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
