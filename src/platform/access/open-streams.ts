import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { inTenant, isOutage } from '../database/index.js';
import { EventBus } from '../event/index.js';
import { msg } from '../message/index.js';
import { ApiKeyCallers, CallerResolver } from './access.js';
import type { Caller } from './access.js';

/** The reason why the service ends a stream. */
export type StreamEnd = 'signed-out' | 'access-lost' | 'shutdown';

/** What a stream that ends as `access-lost` says. */
export const ACCESS_LOST = msg`You may no longer use what this answer needs, so it stops here. Choose another model, agent or knowledge base.`;

/**
 * Streams are limited by kind: following runs leaves a user's chat streams alone. `reader` follows a chat turn that goes on without
 * it. `work` is watched work without a stream of its own; it is not limited.
 */
export type StreamKind = 'chat' | 'reader' | 'harness' | 'work';

/** The place of a stream among those that its user may have open. Its owner must release it when the stream ends. */
export class StreamPlace {
  private ended: StreamEnd | undefined;
  private ending: ((why: StreamEnd) => void) | undefined;
  /** Checks the stream when the sign-in or the key of its caller ends by itself. */
  expiry: NodeJS.Timeout | undefined;
  /** Whether the caller, as of now, may still reach the records that the stream uses. Set once they are known. */
  mayGoOn: ((now: Caller) => Promise<boolean>) | undefined;

  constructor(
    readonly caller: Caller,
    readonly kind: StreamKind,
    /** Whether the stream has no end of its own. */
    readonly endless: boolean,
    readonly release: () => void,
  ) {}

  /** Sets how to end the stream. `ending` is called at once if the service has ended the stream meanwhile. */
  onEnd(ending: (why: StreamEnd) => void): void {
    this.ending = ending;
    if (this.ended) ending(this.ended);
  }

  end(why: StreamEnd): void {
    this.ended ??= why;
    this.ending?.(why);
  }
}

export interface StreamLimit {
  /** Streams of the kind that one user may have open in this process. */
  readonly perUser: number;
  readonly kind?: StreamKind;
  /** The stream has no end of its own, so a stop of the process does not wait for it; its client opens it again. */
  readonly endless?: boolean;
}

/** Work whose caller may lose the right to it. */
export interface WatchedWork {
  /** Aborts when the caller is gone or may no longer go on. A stop of the process is announced in other ways. */
  readonly signal: AbortSignal;
  readonly release: () => void;
}

/** Interval of checking open streams against the database without an event. */
const CHECK_MS = 15_000;
/** The clocks of process and database may differ: a stream that is still valid at its end is checked again after this time. */
const EXPIRY_RETRY_MS = 250;
/** A timer of Node cannot run for more than 24 days. */
const MAX_TIMER_MS = 86_400_000;

/**
 * The open streams of this process. A stream ends when its sign-in ends, its user is disabled or loses a permission or the
 * access to what it uses:
 * when the event of that change arrives, and at the latest at the next check.
 */
@Injectable()
export class OpenStreams implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(OpenStreams.name);
  private readonly streams = new Set<StreamPlace>();
  private timer: NodeJS.Timeout | undefined;
  private readonly subscriptions: (() => void)[] = [];
  /** Streams that the stop of the process has ended; those that are opened later end at once. */
  private ended: 'none' | 'endless' | 'all' = 'none';

  constructor(
    private readonly bus: EventBus,
    private readonly callers: CallerResolver,
    private readonly keys: ApiKeyCallers,
  ) {}

  onModuleInit(): void {
    this.subscriptions.push(
      this.bus.subscribe('access.changed', ({ tenantId }) => void this.check(tenantId)),
      this.bus.onResumed(() => void this.check()),
    );
    this.timer = setInterval(() => void this.check(), CHECK_MS).unref();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.endAll();
  }

  /** Ends the streams without an end of their own: the process takes no more requests. */
  endEndless(): void {
    if (this.ended === 'none') this.ended = 'endless';
    for (const stream of this.streams) if (stream.endless) stream.end('shutdown');
  }

  /** Ends every stream: the process stops. */
  endAll(): void {
    this.ended = 'all';
    for (const stream of this.streams) stream.end('shutdown');
  }

  get size(): number {
    return [...this.streams].filter(({ kind }) => kind !== 'work').length;
  }

  /** Checks work as open streams are checked, by `mayGoOn` alone: its caller may be one of a job. Release it at the end. */
  watch(caller: Caller, mayGoOn: NonNullable<StreamPlace['mayGoOn']>): WatchedWork {
    const lost = new AbortController();
    const place = this.add(caller, 'work', false);
    place.mayGoOn = mayGoOn;
    place.onEnd((why) => why !== 'shutdown' && lost.abort());
    return { signal: lost.signal, release: place.release };
  }

  /**
   * Reserves a place; undefined when the user has as many as the limit. Call it before the first await of what opens the
   * stream: counting and reserving are one step, so that requests at the same time cannot exceed the limit together.
   */
  reserve(
    caller: Caller,
    { perUser, kind = 'chat', endless = false }: StreamLimit,
  ): StreamPlace | undefined {
    if (this.countOf(caller, kind) >= perUser) return undefined;
    return this.add(caller, kind, endless);
  }

  private add(caller: Caller, kind: StreamKind, endless: boolean): StreamPlace {
    const release = (): void => {
      clearTimeout(place.expiry);
      this.streams.delete(place);
    };
    const place: StreamPlace = new StreamPlace(caller, kind, endless, release);
    this.streams.add(place);
    this.watchExpiry(place, caller);
    if (this.ended === 'all' || (endless && this.ended === 'endless')) place.end('shutdown');
    return place;
  }

  private watchExpiry(place: StreamPlace, { validUntil }: Caller): void {
    clearTimeout(place.expiry);
    if (validUntil === undefined || !this.streams.has(place)) return;
    const remainingMs = Math.max(EXPIRY_RETRY_MS, validUntil - Date.now());
    const check = (): void => void this.checkGroup([place]);
    place.expiry = setTimeout(check, Math.min(remainingMs, MAX_TIMER_MS)).unref();
  }

  /** How many streams of the kind each user has open. */
  countsOf(kind: StreamKind): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { kind: one, caller } of this.streams) {
      if (one === kind) counts.set(caller.userId, (counts.get(caller.userId) ?? 0) + 1);
    }
    return counts;
  }

  /** The number of places of the kind that the user has in this process. */
  private countOf({ userId }: Caller, kind: StreamKind): number {
    let count = 0;
    for (const stream of this.streams) {
      if (stream.kind === kind && stream.caller.userId === userId) count += 1;
    }
    return count;
  }

  private async check(tenantId?: string): Promise<void> {
    const byCaller = new Map<string, StreamPlace[]>();
    for (const stream of this.streams) {
      const { homeTenantId, tenantId: actingTenant, loginSessionId, userId } = stream.caller;
      // Grants are of the tenant in which a super administrator works.
      if (tenantId !== undefined && ![homeTenantId, actingTenant].includes(tenantId)) continue;
      const key = `${loginSessionId} ${userId} ${actingTenant}`;
      const group = byCaller.get(key);
      if (group) group.push(stream);
      else byCaller.set(key, [stream]);
    }
    for (const group of byCaller.values()) await this.checkGroup(group);
  }

  private async checkGroup(group: readonly StreamPlace[]): Promise<void> {
    const [first] = group;
    if (!first) return;
    try {
      const { caller } = first;
      const now = await (caller.apiKey ? this.keys : this.callers).refresh(caller);
      for (const stream of group) {
        if (!now || hasLostPermission(stream, now)) stream.end('signed-out');
        else if (await inTenant(now.tenantId, () => stream.mayGoOn?.(now) ?? true))
          this.watchExpiry(stream, now);
        else stream.end('access-lost');
      }
    } catch (error) {
      // The next check tries again. Ending streams because the database is unavailable would lose answers.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to check open streams', err: error });
    }
  }
}

/** Work decides itself which permissions it needs. */
function hasLostPermission({ kind, caller }: StreamPlace, now: Caller): boolean {
  return kind !== 'work' && [...caller.permissions].some((one) => !now.permissions.has(one));
}
