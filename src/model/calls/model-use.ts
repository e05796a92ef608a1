import type { Feature, ModelUser } from '../../usage/index.js';
import type { CallTrail } from './call.trail.js';

/** Who calls a model and what for: part of every call, because the usage ledger says it. */
export interface ModelUse {
  readonly caller: ModelUser;
  readonly feature: Feature;
  readonly agentId?: number | undefined;
  /** Gets each attempt. */
  readonly trail?: CallTrail | undefined;
}
