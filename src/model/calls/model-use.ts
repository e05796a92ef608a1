import type { Caller } from '../../platform/access/index.js';
import type { CallTrail } from './call.trail.js';

/** What models are called for. */
export const FEATURES = [
  'chat',
  'agent',
  'retrieval',
  'ingestion',
  'embedding',
  'rerank',
  'media',
  'moderation',
  'harness',
  'test',
] as const;
export type Feature = (typeof FEATURES)[number];

/**
 * Calls that work for others and cost nothing: a look at the task of a medium, a count of tokens. They are booked as rows of
 * these kinds, and reports and limits do not count them.
 */
export const AUXILIARY_KINDS = ['lookup', 'count'] as const;
export type AuxiliaryKind = (typeof AUXILIARY_KINDS)[number];

/** On whose behalf a model is called. */
export type ModelUser = Pick<Caller, 'tenantId' | 'userId' | 'origin' | 'apiKey'>;

/** Who calls a model and what for: part of every call, because the books say it. */
export interface ModelUse {
  readonly caller: ModelUser;
  readonly feature: Feature;
  readonly agentId?: number | undefined;
  /** Is told of each attempt. */
  readonly trail?: CallTrail | undefined;
}
