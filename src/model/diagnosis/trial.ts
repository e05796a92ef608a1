import type { DiagnosisView } from './diagnosis.view.js';
import type { StepLog } from './step.log.js';

/** What a call found, beside its steps. */
export type TrialResult = Omit<DiagnosisView, 'steps' | 'normalizedAddress' | 'url'>;

export interface TrialRun {
  readonly log: StepLog;
  readonly signal: AbortSignal;
}

/** Where a model is called and, for categories with a cheap one, the call that tries it. */
export interface Trial {
  readonly url: string;
  readonly normalizedAddress: string;
  /** Keeps the steps `http` and `answer`; throws what it fails with. */
  call?(run: TrialRun): Promise<TrialResult>;
}

export const TRIAL_LIMITS = { connectMs: 10_000, idleMs: 30_000, totalMs: 60_000 } as const;
