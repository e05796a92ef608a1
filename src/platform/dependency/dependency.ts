import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import { english } from '../message/index.js';
import type { Message } from '../message/index.js';

/** The names of the readiness checks, which the log and the metric use as well. */
export type DependencyName = 'store' | 'queue' | 'vectorStore' | 'files';

/** Asks the dependency whether it works; rejects when it does not. It has a time limit of its own. */
type Probe = () => Promise<unknown>;

/** Time between two probes of a dependency that is down. */
const PROBE_MS = 1_000;

/**
 * A failure whose cause is known. `reason` is shown to people and by the public readiness route, so it names neither an
 * address nor a record.
 */
export class DependencyFault extends Error {
  constructor(
    readonly reason: Message,
    cause?: unknown,
  ) {
    super(english(reason), { cause });
  }
}

/**
 * Whether something outside of this process works, as the last call of it has shown: the state of a circuit breaker. The
 * first failure takes it down, a later call or probe that succeeds takes it up, and each change is one line in the log.
 * While it is down it is probed once a second, one probe at a time.
 */
export class Dependency {
  private readonly logger = new Logger('Dependencies');
  private readonly listeners = new Set<(isUp: boolean) => void>();
  private up = true;
  private downReason: Message | undefined;
  private limitReason: Message | undefined;
  /** A call that began before the last change says nothing about the present state. */
  private changedAt = 0;
  private probe: Probe | undefined;
  private idleProbeMs: number | undefined;
  private probing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(readonly name: DependencyName) {}

  get isUp(): boolean {
    return this.up;
  }

  /** The reason why it is down or limited, if that is known. */
  get reason(): Message | undefined {
    return this.up ? this.limitReason : this.downReason;
  }

  /** Whether it is up, but refuses a part of its work, such as writes to a full disk. */
  get isLimited(): boolean {
    return this.up && this.limitReason !== undefined;
  }

  /** Sets the probe. With `everyMs` it also runs while the dependency is up, so that an outage shows without a call. */
  probeWith(probe: Probe, { everyMs }: { readonly everyMs?: number } = {}): void {
    this.probe = probe;
    this.idleProbeMs = everyMs;
    this.schedule();
  }

  /** A call that began at the time (performance.now()) failed because the dependency does not work. */
  failed(error: unknown, beganAt = performance.now()): void {
    if (!this.up || this.closed || beganAt < this.changedAt) return;
    this.downReason = error instanceof DependencyFault ? error.reason : undefined;
    this.change(false);
    this.logger.warn({ msg: 'Dependency unavailable', check: this.name, err: error });
  }

  /** A call that began at the time (performance.now()) was answered. */
  succeeded(beganAt = performance.now()): void {
    if (this.up || this.closed || beganAt < this.changedAt) return;
    this.change(true);
    this.logger.log({ msg: 'Dependency recovered', check: this.name });
  }

  /** Marks it as limited: it works, but refuses a part of its work for this reason. It is probed as if it were down. */
  limit(fault: DependencyFault): void {
    const isKnown = this.limitReason && english(this.limitReason) === fault.message;
    if (this.closed || isKnown) return;
    this.limitReason = fault.reason;
    this.logger.warn({ msg: 'Dependency limited', check: this.name, err: fault });
    this.schedule();
  }

  /** Marks it as no longer limited. */
  unlimit(): void {
    if (this.closed || this.limitReason === undefined) return;
    this.limitReason = undefined;
    this.logger.log({ msg: 'Dependency no longer limited', check: this.name });
    this.schedule();
  }

  /** Called after each change. Listeners must not throw. Returns the way to unsubscribe. */
  onChange(listener: (isUp: boolean) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Probes now, or waits for the probe that is under way. Never fails. */
  async check(): Promise<void> {
    if (!this.probe || this.closed) return;
    this.probing ??= this.probeOnce(this.probe).finally(() => (this.probing = undefined));
    await this.probing;
  }

  /** Ends the probes; the state stays as it is. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private change(up: boolean): void {
    this.up = up;
    this.changedAt = performance.now();
    this.schedule();
    for (const listener of this.listeners) listener(up);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    const delayMs = this.up && !this.isLimited ? this.idleProbeMs : PROBE_MS;
    if (this.closed || !this.probe || delayMs === undefined) return;
    this.timer = setTimeout(() => void this.check(), delayMs).unref();
  }

  private async probeOnce(probe: Probe): Promise<void> {
    const beganAt = performance.now();
    try {
      await probe();
      this.succeeded(beganAt);
    } catch (error) {
      this.failed(error, beganAt);
    }
    this.schedule();
  }
}
