import type { Logger } from '@nestjs/common';

/** Failures that are remembered; when there are more, all are forgotten and logged again. */
const MOST = 1_000;

/**
 * Logs repeated failures once: work that is tried again and again, such as a sweep, is logged when it first fails, and again
 * only when it has succeeded in between or fails for another reason.
 */
export class Attempts {
  private readonly failures = new Map<string, string>();

  constructor(private readonly logger: Logger) {}

  /** Never fails. `what` and the run identify an attempt; both are logged. */
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
