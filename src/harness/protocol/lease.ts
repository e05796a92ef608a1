/** The right of one process to act for a run. It is lost as soon as the row has another fence. */
export interface RunClaim {
  readonly tenantId: string;
  readonly runId: string;
  /** New with every claim. */
  readonly owner: string;
  readonly fence: number;
}

/** How long a claim holds without a renewal, by the database's clock. */
export const LEASE_SECONDS = 45;
/** How often it is renewed. */
export const RENEW_SECONDS = 15;
/** A process that could not renew for so long stops itself, before the lease ends. */
export const STOP_AFTER_SECONDS = 30;

/** The lease belongs to another owner or to none: nothing more may be written for the run. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor({ runId, fence }: RunClaim) {
    super(`The lease of run ${runId} with fence ${fence} is lost.`);
  }
}
