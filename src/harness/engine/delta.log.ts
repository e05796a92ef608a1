import type { EventDraft } from '../store/event.catalogue.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { EventRepository } from '../store/event.repository.js';
import type { RunLedger } from '../store/run.ledger.js';
import type { RunLease } from '../protocol/lease.js';
import type { MaskedText, SecretMask } from '../store/secret-mask.js';

const CHARACTERS = 512;
const MERGE_MS = 100;
/** From so many events on, deltas are merged for longer; from LAST_DELTA on they are not stored. */
const MERGE_LONGER_FROM = 15_000;
const MERGE_LONGER_MS = 2_000;
const LAST_DELTA = 20_000;

const DELTA_TYPES = ['assistant.thinking.delta', 'assistant.text.delta'] as const;
type DeltaType = (typeof DELTA_TYPES)[number];

interface Delta {
  readonly type: DeltaType;
  delta: string;
}

interface DeltaContext {
  readonly lease: RunLease;
  readonly effectId: string;
  readonly iteration: number;
  /** The number of the run's last event. */
  readonly sequence: number;
  readonly mask: SecretMask;
}

/**
 * Stores the deltas of a model call while they arrive: merged to one event per 100 ms or 512 characters, in their order,
 * without the secrets of the service. A failed write is thrown by the next `add` or by `flush`.
 */
export class DeltaLog {
  private readonly masked: Readonly<Record<DeltaType, MaskedText>>;
  private pending: Delta[] = [];
  private characters = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | undefined;
  private sequence: number;
  private warned = false;

  constructor(
    private readonly ledger: RunLedger,
    private readonly events: EventRepository,
    private readonly context: DeltaContext,
  ) {
    this.sequence = context.sequence;
    const { mask } = context;
    this.masked = {
      'assistant.text.delta': mask.pieces(),
      'assistant.thinking.delta': mask.pieces(),
    };
  }

  add(type: DeltaType, delta: string): void {
    if (this.failure) throw this.failure;
    this.put(type, this.masked[type].add(delta));
    if (this.characters >= CHARACTERS && !this.isLong) this.write();
    else if (this.pending.length > 0) {
      this.timer ??= setTimeout(() => this.write(), this.isLong ? MERGE_LONGER_MS : MERGE_MS);
    }
  }

  /** Resolves when everything is stored. */
  async flush(): Promise<void> {
    for (const type of DELTA_TYPES) this.put(type, this.masked[type].end());
    this.write();
    await this.writing;
    if (this.failure) throw this.failure;
  }

  /** Discards what is not stored yet, for a call that has failed. */
  async drop(): Promise<void> {
    clearTimeout(this.timer);
    this.pending = [];
    await this.writing;
  }

  private put(type: DeltaType, delta: string): void {
    if (delta === '') return;
    const last = this.pending.at(-1);
    if (last?.type === type) last.delta += delta;
    else this.pending.push({ type, delta });
    this.characters += delta.length;
  }

  private get isLong(): boolean {
    return this.sequence >= MERGE_LONGER_FROM;
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.characters = 0;
    const { pending } = this;
    this.pending = [];
    if (pending.length === 0) return;
    this.writing = this.writing
      .then(() => this.store(pending))
      .catch((error: unknown) => {
        this.failure = error instanceof Error ? error : new Error(String(error));
      });
  }

  private async store(deltas: readonly Delta[]): Promise<void> {
    if (this.failure) return;
    const { lease, effectId, iteration } = this.context;
    if (this.sequence >= LAST_DELTA) {
      await this.warn();
      return;
    }
    const subject = { stepId: stepIdOf(iteration) };
    const drafts = deltas.map(({ type, delta }): EventDraft => ({
      type,
      data: { effectId, delta },
      subject,
    }));
    this.sequence = await this.ledger.append(lease, drafts);
  }

  /** Once for the run. */
  private async warn(): Promise<void> {
    if (this.warned) return;
    this.warned = true;
    const { lease } = this.context;
    const run = { tenantId: lease.tenantId, id: lease.runId };
    if (await this.events.has(run, 'limit.warning', LAST_DELTA)) return;
    const data = { kind: 'events', count: this.sequence, limit: LAST_DELTA };
    await this.ledger.append(lease, [{ type: 'limit.warning', data }]);
  }
}
