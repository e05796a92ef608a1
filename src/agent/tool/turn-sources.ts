import { sourceOf } from './sources.js';
import type { SentFragment, Source } from './sources.js';

/** Sources of one turn. A citation has at most three digits. */
const MOST_SOURCES = 500;

/** The sources of one turn, numbered from 1 in the order in which the model got them. */
export class TurnSources {
  private readonly byFid = new Map<string, Source>();

  /** @param known Sources that the model has already, such as those of an augmented question. */
  constructor(known: readonly Source[] = []) {
    for (const source of known) this.byFid.set(source.fid, source);
  }

  get all(): readonly Source[] {
    return [...this.byFid.values()];
  }

  /** How many fragments that it does not know yet the turn can have. */
  get vacancies(): number {
    return MOST_SOURCES - this.byFid.size;
  }

  has(fid: string): boolean {
    return this.byFid.has(fid);
  }

  /** The fragment with its number: the next one, or the same as before for a fragment that the model has already. */
  add(fragment: SentFragment): Source {
    const known = this.byFid.get(fragment.fid);
    if (known) return known;
    if (this.vacancies === 0) throw new Error('The turn has as many sources as it can have.');
    const source = sourceOf(fragment, this.byFid.size + 1);
    this.byFid.set(source.fid, source);
    return source;
  }
}
