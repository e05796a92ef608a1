import { UpstreamError } from '../../provider/index.js';
import type { DiagnosisView } from './diagnosis.view.js';
import { reasonOf } from './step.log.js';
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

/** Makes a call that has one answer, and keeps its two steps. Throws what the call throws. */
export async function runCall<T>(
  log: StepLog,
  call: () => Promise<T>,
  describe: (answer: T) => string,
): Promise<T> {
  const started = performance.now();
  try {
    const answer = await call();
    log.add('http', true, started, 'The provider accepted the request.');
    log.add('answer', true, started, describe(answer));
    return answer;
  } catch (error) {
    addFailure(log, started, error);
    throw error;
  }
}

/** Keeps a failure of a call as the step that it belongs to. */
export function addFailure(log: StepLog, started: number, error: unknown): void {
  const isAnswered = isAboutContent(error);
  if (isAnswered) log.add('http', true, started, 'The provider answered.');
  log.add(isAnswered ? 'answer' : 'http', false, started, reasonOf(error));
}

/** The service answered, but not in its protocol, or not to the end. */
function isAboutContent(error: unknown): boolean {
  return error instanceof UpstreamError && ['protocol', 'content', 'cut'].includes(error.kind);
}
