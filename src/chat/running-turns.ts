import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { isOutage, withStatementLimit } from '../platform/database/index.js';
import { EventBus } from '../platform/event/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import type { Turn } from './chat.turn.js';
import { LEASE_SECONDS, TurnRepository } from './turn.repository.js';

const RENEW_MS = (LEASE_SECONDS * 1_000) / 3;

/**
 * The turns of this process. Renews the leases of those that run in sessions, in one statement for all; stops those whose
 * users asked for it; and releases the sessions of turns that died with their process.
 */
@Injectable()
export class RunningTurns implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(RunningTurns.name);
  private readonly turns = new Map<string, Turn>();
  private renewal: IntervalJob | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: TurnRepository,
    private readonly bus: EventBus,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.unsubscribe = this.bus.subscribe('chat.stop', ({ tenantId, sessionId }) => {
      for (const turn of this.turns.values()) {
        const isMeant = turn.caller.tenantId === tenantId && turn.body.sessionId === sessionId;
        if (isMeant) turn.stop('stopped');
      }
    });
    // The embedded store has one process, so at its start no turn can be alive.
    await this.repository.sweep(this.config.embedded);
    this.renewal = new IntervalJob(RENEW_MS, () =>
      withStatementLimit(RENEW_MS, () => this.renewAndSweep()),
    );
  }

  /** Ends every turn with what it has and waits until all are stored. */
  async beforeApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await this.renewal?.stop();
    for (const turn of this.turns.values()) turn.stop('shutdown');
    await Promise.allSettled([...this.turns.values()].map((turn) => turn.settled));
  }

  has(turnId: string): boolean {
    return this.turns.has(turnId);
  }

  add(turn: Turn): void {
    this.turns.set(turn.id, turn);
  }

  remove(turn: Turn): void {
    this.turns.delete(turn.id);
  }

  private async renewAndSweep(): Promise<void> {
    try {
      await this.renewLeases();
      await this.repository.sweep(false);
    } catch (error) {
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to renew turn leases', err: error });
    }
  }

  private async renewLeases(): Promise<void> {
    const inSessions = [...this.turns.values()].filter(({ body }) => body.sessionId !== undefined);
    if (inSessions.length === 0) return;
    const stopped = await this.repository.renew(
      inSessions.map(({ id, caller }) => ({ tenantId: caller.tenantId, turnId: id })),
    );
    for (const turnId of stopped) this.turns.get(turnId)?.stop('stopped');
  }
}
