import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { IntervalJob } from '../../../platform/queue/index.js';
import { StoredResponseRepository } from './stored-response.repository.js';
import type { ResponseKey } from './stored-response.repository.js';

/** Lease of a running response since the last renewal by its process. */
export const RUNNING_MS = 60_000;
const RENEWAL_MS = 10_000;

/**
 * The responses that this process answers in the background. It renews them in the database, so that one whose process has ended
 * is known as interrupted after RUNNING_MS, and ends those that were cancelled or deleted elsewhere.
 */
@Injectable()
export class BackgroundResponses implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(BackgroundResponses.name);
  private readonly running = new Map<
    string,
    { readonly key: ResponseKey; end(): void; readonly ended: Promise<void> }
  >();
  private renewals: IntervalJob | undefined;

  constructor(private readonly stored: StoredResponseRepository) {}

  onApplicationBootstrap(): void {
    this.renewals = new IntervalJob(RENEWAL_MS, () => this.renew());
  }

  /** Answers that still run are ended by the shutdown of their streams, and stored as failed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.renewals?.stop();
    await Promise.all([...this.running.values()].map(({ ended }) => ended));
  }

  /** Runs until the answer has ended, or until `end` interrupts it. */
  run(key: ResponseKey, end: () => void, answer: () => Promise<void>): void {
    const { id } = key;
    const ended = answer()
      .catch((error: unknown) => {
        this.logger.error({ msg: 'Failed to store a response in the background', err: error });
      })
      .finally(() => this.running.delete(id));
    this.running.set(id, { key, end, ended });
  }

  /** Interrupts the answer if this process writes it. */
  end(id: string): void {
    this.running.get(id)?.end();
  }

  /** One renewal of all leases. */
  async renew(): Promise<void> {
    const keys = [...this.running.values()].map(({ key }) => key);
    if (keys.length === 0) return;
    try {
      const existing = new Set(await this.stored.renew(keys, RUNNING_MS));
      for (const { id } of keys) if (!existing.has(id)) this.end(id);
    } catch (error) {
      this.logger.warn({ msg: 'Failed to renew responses in the background', err: error });
    }
  }
}
