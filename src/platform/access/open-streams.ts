import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { EventBus } from '../event/index.js';
import type { Caller } from './caller.js';
import { CallerResolver } from './caller.resolver.js';

/** Why the service ends a stream. */
export type StreamEnd = 'signed-out' | 'shutdown';

/** Streams are limited by kind: following runs leaves a user's chat streams alone. */
export type StreamKind = 'chat' | 'harness';

interface OpenStream {
  readonly caller: Caller;
  readonly kind: StreamKind;
  readonly end: (why: StreamEnd) => void;
}

/** Interval of checking open streams against the database without an event. */
const CHECK_MS = 15_000;

/**
 * The open streams of this process. A stream ends when its sign-in ends, its user is disabled or loses a permission:
 * when the event of that change arrives, and at the latest at the next check.
 */
@Injectable()
export class OpenStreams implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(OpenStreams.name);
  private readonly streams = new Set<OpenStream>();
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly callers: CallerResolver,
  ) {}

  onModuleInit(): void {
    this.unsubscribe = this.bus.subscribe('access.changed', ({ tenantId }) => {
      void this.check(tenantId);
    });
    this.timer = setInterval(() => void this.check(), CHECK_MS).unref();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
    this.unsubscribe?.();
    for (const stream of this.streams) stream.end('shutdown');
  }

  get size(): number {
    return this.streams.size;
  }

  /** Returns a function that removes the stream. Its owner must call it when the stream ends. */
  add(caller: Caller, end: (why: StreamEnd) => void, kind: StreamKind = 'chat'): () => void {
    const stream = { caller, end, kind };
    this.streams.add(stream);
    return () => this.streams.delete(stream);
  }

  /** The number of open streams of the kind that the user has in this process. */
  countOf({ userId }: Caller, kind: StreamKind = 'chat'): number {
    let count = 0;
    for (const stream of this.streams) {
      if (stream.kind === kind && stream.caller.userId === userId) count += 1;
    }
    return count;
  }

  private async check(tenantId?: string): Promise<void> {
    const bySession = new Map<string, OpenStream[]>();
    for (const stream of this.streams) {
      if (tenantId !== undefined && stream.caller.homeTenantId !== tenantId) continue;
      const group = bySession.get(stream.caller.loginSessionId);
      if (group) group.push(stream);
      else bySession.set(stream.caller.loginSessionId, [stream]);
    }
    for (const group of bySession.values()) await this.checkGroup(group);
  }

  private async checkGroup(group: readonly OpenStream[]): Promise<void> {
    const [first] = group;
    if (!first) return;
    try {
      const now = await this.callers.refresh(first.caller);
      for (const stream of group) {
        const { permissions } = stream.caller;
        if (!now || [...permissions].some((one) => !now.permissions.has(one)))
          stream.end('signed-out');
      }
    } catch (error) {
      // The next check tries again. Ending streams because the database is unavailable would lose answers.
      this.logger.warn({ msg: 'Failed to check open streams', err: error });
    }
  }
}
