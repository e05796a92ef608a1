import type { CitableFragment } from '../../retrieval/index.js';
import { sourceOf } from './sources.js';
import type { Source, SourceBudget } from './sources.js';

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

  /** The turn has as many sources as it can have: only known fragments are added from now on. */
  get isFull(): boolean {
    return this.byFid.size >= MOST_SOURCES;
  }

  /**
   * The fragments with their numbers, in the given order: the next numbers for new ones, the same number for a fragment
   * that the model has already. Fragments that exceed the remaining budget are left out; smaller ones after them are
   * still considered.
   */
  add(fragments: Iterable<CitableFragment>, budget: SourceBudget): Source[] {
    const sources: Source[] = [];
    let room = budget.characters;
    for (const fragment of fragments) {
      if (sources.length === budget.pieces) break;
      const size = fragment.content.trim().length;
      const known = this.byFid.get(fragment.fid);
      if (size > room || (!known && this.isFull)) continue;
      room -= size;
      sources.push(known ?? this.keep(sourceOf(fragment, this.byFid.size + 1)));
    }
    return sources;
  }

  private keep(source: Source): Source {
    this.byFid.set(source.fid, source);
    return source;
  }
}
