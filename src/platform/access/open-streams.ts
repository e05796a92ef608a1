import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { EventBus } from '../event/index.js';
import type { Caller } from './caller.js';
import { CallerResolver } from './caller.resolver.js';

/** Why a stream is ended from our side. */
export type StreamEnd = 'signed-out' | 'shutdown';

/** Streams of a kind are counted together: watching runs takes no answer away from a user. */
export type StreamKind = 'chat' | 'harness';

interface OpenStream {
  readonly caller: Caller;
  readonly kind: StreamKind;
  readonly end: (why: StreamEnd) => void;
}

/** How often open streams are checked against the database even when no event came. */
const CHECK_MS = 15_000;

/**
 * The streams this process holds open. A stream ends when its sign-in ends, its user is disabled or its permissions
 * shrink; a change is acted on when its event arrives, and at the latest at the next check.
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

  /** Returns the way to take the stream out again, which its owner must call when it ends. */
  add(caller: Caller, end: (why: StreamEnd) => void, kind: StreamKind = 'chat'): () => void {
    const stream = { caller, end, kind };
    this.streams.add(stream);
    return () => this.streams.delete(stream);
  }

  /** How many streams of the kind the user has open in this process. */
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
      // The next check tries again; ending streams because the store hiccuped would lose answers.
      this.logger.warn({ msg: 'Open streams could not be checked', err: error });
    }
  }
}
