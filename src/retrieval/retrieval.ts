import type { KnowledgeBase } from '../knowledge/index.js';

/** What a request may set instead of the settings of the knowledge base. */
export interface RetrievalOverrides {
  readonly topK?: number | undefined;
  /** Least cosine similarity in the vector channel; 0 admits everything. */
  readonly threshold?: number | undefined;
  readonly enableHybrid?: boolean | undefined;
  readonly hybridAlpha?: number | undefined;
  readonly enableRerank?: boolean | undefined;
  readonly rerankModel?: string | undefined;
}

/** The settings that a retrieval really uses. */
export interface RetrievalSettings {
  readonly topK: number;
  readonly threshold: number;
  readonly enableHybrid: boolean;
  readonly hybridAlpha: number;
  readonly enableRerank: boolean;
  readonly rerankModel: string;
  /** Fewer than topK, where the knowledge base asks a reranker for fewer. */
  readonly limit: number;
  /** How many fragments each channel looks for, and the reranker gets. */
  readonly candidates: number;
  /** On the reranker's scale; applies to what it has scored. */
  readonly rerankScoreThreshold: number | undefined;
}

/** How a fragment came to its place, or why it has none. */
export interface Explanation {
  /** Cosine similarity, and its place in the vector channel from 1. */
  readonly vector: { readonly rank: number; readonly score: number } | null;
  /** BM25, the words that matched, and its place in the keyword channel from 1. */
  readonly keyword: {
    readonly rank: number;
    readonly score: number;
    readonly terms: readonly string[];
  } | null;
  /** The fused score and the keyword weight; null without hybrid search. */
  readonly fusion: { readonly rank: number; readonly score: number; readonly alpha: number } | null;
  /** The reranker's score and place; null when it was not asked, failed, or left the fragment out. */
  readonly rerank: { readonly rank: number; readonly score: number } | null;
  /** Why it is not in the result; null for one that is. */
  readonly dropped: string | null;
}

export interface RetrievedFragment {
  readonly fragmentId: number;
  readonly fid: string;
  readonly docId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly idx: number;
  readonly content: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  /** Name of the document. */
  readonly sourceName: string;
  /** On the scale that `scale` of the result names. */
  readonly score: number;
  /** Before the reranker; absent without one. */
  readonly rawScore?: number;
  /** Place before the reranker, from 0; absent without one. */
  readonly originalIndex?: number;
  readonly explanation: Explanation;
}

/** What one channel did. */
export interface ChannelReport {
  readonly hits: number;
  readonly milliseconds: number;
  /** Why it found nothing, when it failed. */
  readonly failure?: string;
}

export interface RetrievalResult {
  readonly fragments: readonly RetrievedFragment[];
  /** Candidates that did not come through; only when an explanation was asked for. */
  readonly dropped: readonly RetrievedFragment[];
  readonly settings: RetrievalSettings;
  /** What `score` means. */
  readonly scale: 'cosine' | 'fusion' | 'rerank';
  readonly channels: {
    readonly vector: ChannelReport;
    readonly keyword: ChannelReport | null;
  };
  /** `fallback`: the reranker failed and the order before it was used. */
  readonly rerank: 'off' | 'applied' | 'fallback';
  /** What the reader should know about the result, in plain words; mostly empty. */
  readonly notices: readonly string[];
}

const DEFAULT_LIMIT = 10;
/** The specification: the reranker chooses among three times as many fragments as are wanted. */
const POOL = 3;

/** A request's value, else the saved one (specification, Retrieval parameter resolution). */
export function settingsOf(knowledge: KnowledgeBase, given: RetrievalOverrides): RetrievalSettings {
  const topK = given.topK ?? (knowledge.retrieveLimit || DEFAULT_LIMIT);
  const rerankModel = (given.rerankModel?.trim() || knowledge.rerankModel?.trim()) ?? '';
  const enableRerank = given.enableRerank ?? knowledge.enableRerank === 1;
  return {
    topK,
    threshold: given.threshold ?? knowledge.similarityThreshold,
    enableHybrid: given.enableHybrid ?? knowledge.enableHybrid === 1,
    hybridAlpha: given.hybridAlpha ?? knowledge.hybridAlpha,
    enableRerank,
    rerankModel,
    limit: enableRerank ? Math.min(topK, knowledge.rerankTopN ?? topK) : topK,
    candidates: enableRerank ? topK * POOL : topK,
    rerankScoreThreshold: knowledge.rerankScoreThreshold ?? undefined,
  };
}
