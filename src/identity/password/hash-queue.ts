import PQueue from 'p-queue';
import { TooManyRequestsError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

const RETRY_AFTER_SECONDS = 1;

/** The share of the places that one source may take, so that it cannot block the others. */
const SHARE = 1 / 4;

/**
 * Runs the hashing of passwords, `running` at a time. Up to `waiting` more wait in order; further ones are refused with
 * TooManyRequestsError, so that a flood of sign-ins neither fills the memory nor holds up the process.
 */
export class HashQueue {
  private readonly queue: PQueue;
  private readonly places: number;
  private readonly placesOf = new Map<string, number>();

  constructor({ running, waiting }: { readonly running: number; readonly waiting: number }) {
    this.queue = new PQueue({ concurrency: running });
    this.places = running + waiting;
  }

  /** `source` is the network that the work is done for; undefined for work that is not limited to a share. */
  async run<T>(source: string | undefined, work: () => Promise<T>): Promise<T> {
    if (this.queue.pending + this.queue.size >= this.places) throw tooMany();
    if (source === undefined) return this.queue.add(work);
    const places = this.placesOf.get(source) ?? 0;
    if (places >= Math.max(1, Math.floor(this.places * SHARE))) throw tooMany();
    this.placesOf.set(source, places + 1);
    try {
      return await this.queue.add(work);
    } finally {
      this.release(source);
    }
  }

  private release(source: string): void {
    const remainingPlaces = (this.placesOf.get(source) ?? 1) - 1;
    if (remainingPlaces === 0) this.placesOf.delete(source);
    else this.placesOf.set(source, remainingPlaces);
  }
}

function tooMany(): TooManyRequestsError {
  return new TooManyRequestsError(
    msg`Too many sign-ins at the same time. Try again in ${RETRY_AFTER_SECONDS} second.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
