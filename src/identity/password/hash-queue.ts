import { TooManyRequestsError } from '../../platform/error/index.js';

const RETRY_AFTER_SECONDS = 1;

/** One source may have this part of the places, so that it cannot keep the others out. */
const SHARE = 1 / 4;

/**
 * Runs the hashing of passwords, `running` at a time. Up to `waiting` more wait in order; further ones are refused with
 * TooManyRequestsError, so that a flood of sign-ins neither fills the memory nor holds up the process.
 */
export class HashQueue {
  private readonly waiting: (() => void)[] = [];
  private readonly placesOf = new Map<string, number>();
  private readonly share: number;
  private running = 0;

  constructor(private readonly limits: { readonly running: number; readonly waiting: number }) {
    this.share = Math.max(1, Math.floor((limits.running + limits.waiting) * SHARE));
  }

  /** `source` is the network that the work is done for; undefined for work that is not limited to a share. */
  async run<T>(source: string | undefined, work: () => Promise<T>): Promise<T> {
    const release = this.reserve(source);
    try {
      if (this.running >= this.limits.running) {
        // The one that ends hands its place on, so `running` stays as it is.
        await new Promise<void>((resolve) => this.waiting.push(resolve));
      } else {
        this.running += 1;
      }
      try {
        return await work();
      } finally {
        const next = this.waiting.shift();
        if (next) next();
        else this.running -= 1;
      }
    } finally {
      release();
    }
  }

  private reserve(source: string | undefined): () => void {
    const full = this.running >= this.limits.running && this.waiting.length >= this.limits.waiting;
    const held = source === undefined ? 0 : (this.placesOf.get(source) ?? 0);
    if (full || held >= this.share) {
      throw new TooManyRequestsError(
        `Too many sign-ins at the same time. Try again in ${RETRY_AFTER_SECONDS} second.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
    if (source === undefined) return () => undefined;
    this.placesOf.set(source, held + 1);
    return () => {
      const left = (this.placesOf.get(source) ?? 1) - 1;
      if (left === 0) this.placesOf.delete(source);
      else this.placesOf.set(source, left);
    };
  }
}
