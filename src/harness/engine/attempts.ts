import type { Logger } from '@nestjs/common';

/** Failures that are remembered; above, all are forgotten and told of again. */
const MOST = 1_000;

/**
 * For what is tried again and again, like the looks of a sweep: one that fails keeps no other from being tried, and the
 * log says it once, until it succeeds or fails for another reason.
 */
export class Attempts {
  private readonly failures = new Map<string, string>();

  constructor(private readonly logger: Logger) {}

  /** Never fails. `what` and the run tell attempts apart; both are logged. */
  async try(what: string, work: () => Promise<unknown>, runId?: string): Promise<void> {
    const key = `${what} ${runId ?? ''}`;
    try {
      await work();
      this.failures.delete(key);
    } catch (error) {
      const cause = String(error);
      if (this.failures.get(key) === cause) return;
      if (this.failures.size >= MOST) this.failures.clear();
      this.failures.set(key, cause);
      this.logger.error({ msg: what, ...(runId !== undefined && { runId }), err: error });
    }
  }
}
