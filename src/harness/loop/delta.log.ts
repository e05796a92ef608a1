import type { EventDraft } from '../event/event.catalogue.js';
import { stepIdOf } from '../event/event.catalogue.js';
import type { RunLedger } from '../ledger/run.ledger.js';
import type { RunLease } from '../protocol/lease.js';

const CHARACTERS = 512;
const MERGE_MS = 100;
/** From so many events on, deltas are merged for longer; at the second number the run goes on without them. */
const MERGE_LONGER_FROM = 15_000;
const MERGE_LONGER_MS = 2_000;
const LAST_DELTA = 20_000;

type DeltaType = 'assistant.text.delta' | 'assistant.thinking.delta';

interface Turn {
  readonly lease: RunLease;
  readonly effectId: string;
  readonly iteration: number;
  /** The number of the run's last event. */
  readonly sequence: number;
}

/**
 * Stores what a model writes while it writes: merged to one event per 100 ms or 512 characters, in the order in which it
 * came. A write that fails is thrown at the next `add` or at `flush`.
 */
export class DeltaLog {
  private pending: { type: DeltaType; delta: string }[] = [];
  private characters = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | undefined;
  private sequence: number;
  private warned = false;

  constructor(
    private readonly ledger: RunLedger,
    private readonly turn: Turn,
  ) {
    this.sequence = turn.sequence;
  }

  add(type: DeltaType, delta: string): void {
    if (this.failure) throw this.failure;
    if (delta === '') return;
    const last = this.pending.at(-1);
    if (last?.type === type) last.delta += delta;
    else this.pending.push({ type, delta });
    this.characters += delta.length;
    if (this.characters >= CHARACTERS && !this.isLong) this.write();
    else this.timer ??= setTimeout(() => this.write(), this.isLong ? MERGE_LONGER_MS : MERGE_MS);
  }

  /** Resolves when everything is stored. */
  async flush(): Promise<void> {
    this.write();
    await this.writing;
    if (this.failure) throw this.failure;
  }

  /** Forgets what is not stored yet, for a turn that is given up. */
  async drop(): Promise<void> {
    clearTimeout(this.timer);
    this.pending = [];
    await this.writing;
  }

  private get isLong(): boolean {
    return this.sequence >= MERGE_LONGER_FROM;
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.characters = 0;
    const drafts = this.drafts();
    this.pending = [];
    if (drafts.length === 0) return;
    this.writing = this.writing
      .then(async () => {
        if (this.failure) return;
        this.sequence = await this.ledger.append(this.turn.lease, drafts);
      })
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
      });
  }

  private drafts(): EventDraft[] {
    const { effectId, iteration } = this.turn;
    const subject = { stepId: stepIdOf(iteration) };
    if (this.sequence < LAST_DELTA) {
      return this.pending.map(({ type, delta }) => ({ type, data: { effectId, delta }, subject }));
    }
    if (this.warned || this.pending.length === 0) return [];
    this.warned = true;
    const data = { kind: 'events', count: this.sequence, limit: LAST_DELTA };
    return [{ type: 'limit.warning', data }];
  }
}
