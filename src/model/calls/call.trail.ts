import type { NearestLimits } from '../../usage/index.js';

/** What is told of an attempt; its outcome changes until it has ended. */
interface TrailedAttempt {
  readonly start: {
    readonly number: number;
    readonly asked: string;
    readonly model: {
      readonly id: number;
      readonly modelName: string;
      readonly providerCode: string;
    };
  };
  readonly outcome: string;
  readonly hasEnded: boolean;
  readonly leftOut?: readonly string[];
}

/** One attempt of a call, for those who asked for it. */
export interface MadeAttempt {
  readonly model: string;
  readonly provider: string;
  /** As in the usage ledger; `running` until the attempt ends. */
  readonly outcome: string;
}

/** The attempts that were made for one answer, in their order. */
export class CallTrail {
  private readonly made: TrailedAttempt[] = [];
  /** Undefined where no limit applies. */
  nearestLimits: NearestLimits | undefined;
  /** What the service that was called last says of its own, by names of headers. */
  upstreamLimits: Readonly<Record<string, string>> = {};

  add(attempt: TrailedAttempt): void {
    this.made.push(attempt);
  }

  get size(): number {
    return this.made.length;
  }

  /** The name of the model that answers: that of the last attempt. Undefined before the first. */
  get modelName(): string | undefined {
    return this.made.at(-1)?.start.model.modelName;
  }

  /** Whether a call was made again, or another model was called than the one that was asked for. */
  get isEventful(): boolean {
    return this.made.some(({ start }) => start.number > 1 || start.model.modelName !== start.asked);
  }

  /** Parameters that the last attempt did not send, because its service refuses them. */
  get leftOut(): readonly string[] {
    return this.made.at(-1)?.leftOut ?? [];
  }

  hasCalled(modelId: number): boolean {
    return this.made.some(({ start }) => start.model.id === modelId);
  }

  get attempts(): readonly MadeAttempt[] {
    return this.made.map(({ start, outcome, hasEnded }) => ({
      model: start.model.modelName,
      provider: start.model.providerCode,
      outcome: hasEnded ? outcome : 'running',
    }));
  }
}
