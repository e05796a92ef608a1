import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { EventBus } from '../../../platform/event/index.js';
import { EventRepository } from '../../store/event.repository.js';
import type { RunKey } from '../../store/event.repository.js';
import { RunTail } from './run.tail.js';
import type { Follower } from './run.tail.js';

/** A reader that no notification has reached learns of an event after this time. */
const POLL_MS = 2_000;

/**
 * Wakes the readers of this process when the runs they follow have new events. A notification says no more than that;
 * what is new is always read from the table, and every two seconds one statement looks whether a notification was lost.
 * There is one subscription and one timer, and none while nobody reads.
 */
@Injectable()
export class EventFeed implements OnApplicationShutdown {
  private readonly logger = new Logger(EventFeed.name);
  private readonly tails = new Map<string, RunTail>();
  private unsubscribe: (() => void) | undefined;
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly repository: EventRepository,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.stop();
    await this.polling;
  }

  /** Runs that somebody follows. */
  get size(): number {
    return this.tails.size;
  }

  /** A reader of the run's events after the position; it must leave in the end. */
  follow(run: RunKey, position: number): Follower {
    let tail = this.tails.get(run.id);
    if (!tail) {
      tail = new RunTail(run, this.repository, () => this.forget(run.id));
      this.tails.set(run.id, tail);
    }
    this.unsubscribe ??= this.bus.subscribe('harness.event', ({ tenantId, runId, sequence }) => {
      const told = this.tails.get(runId);
      if (told?.run.tenantId === tenantId) told.reaches(sequence);
    });
    this.timer ??= setInterval(() => {
      this.polling ??= this.poll().finally(() => (this.polling = undefined));
    }, POLL_MS).unref();
    return tail.follow(position);
  }

  private forget(runId: string): void {
    this.tails.delete(runId);
    if (this.tails.size === 0) this.stop();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }

  private async poll(): Promise<void> {
    const tails = [...this.tails.values()];
    try {
      const found = await this.repository.progress(tails.map(({ run }) => run));
      const progress = new Map(found.map((one) => [one.id, one]));
      for (const tail of tails) {
        const { last, ended } = progress.get(tail.run.id) ?? { last: 0, ended: true };
        if (ended) tail.end();
        tail.reaches(last);
      }
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Runs that are followed could not be looked at', err: error });
    }
  }
}
