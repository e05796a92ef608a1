import { CITE, QUOTED_DATA, quotedSource, sourceOf } from './sources.js';
import type { CitableFragment } from './sources.js';
import type { TurnSources } from './turn-sources.js';

export interface IndexedFragment extends CitableFragment {
  /** Its index in the document, from 0. */
  readonly idx: number;
}

/** For the model, before the fragments of an answer. */
export const HOW_TO_USE = `${CITE} ${QUOTED_DATA}`;

/** The longest number that a source can get. */
const ANY_NUMBER = 999;

/** Fragments of one answer, quoted with the numbers of the turn, up to a number of characters. */
export class QuotedFragments {
  readonly texts: string[] = [];
  private room: number;

  constructor(
    private readonly sources: TurnSources,
    characters: number,
  ) {
    this.room = characters;
  }

  /** False when it does not fit, or the turn has as many sources as it can have; nothing is added then. */
  add(fragment: IndexedFragment): boolean {
    const size = this.quoted(fragment, ANY_NUMBER).length + 2;
    if (size > this.room) return false;
    const [source] = this.sources.add([fragment], { pieces: 1, characters: Infinity });
    if (!source) return false;
    this.room -= size;
    this.texts.push(this.quoted(fragment, source.number));
    return true;
  }

  /** Adds the beginning of a fragment that is longer than all the room. */
  addBeginning(fragment: IndexedFragment): boolean {
    const { content } = fragment;
    const overhead = this.quoted({ ...fragment, content: '' }, ANY_NUMBER).length + 2;
    // Escaping makes each < longer.
    const characters = Math.floor((this.room - overhead) / 4);
    return this.add({ ...fragment, content: content.slice(0, characters).toWellFormed() });
  }

  private quoted(fragment: IndexedFragment, number: number): string {
    const { docId, idx } = fragment;
    return quotedSource(sourceOf(fragment, number), { docId, index: idx });
  }
}
