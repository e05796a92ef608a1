import type { CitableFragment } from '../../retrieval/index.js';
import { ToolFailure } from './agent-tool.js';
import { CITE, QUOTED_DATA, quotedSource, sourceOf } from './sources.js';
import type { TurnSources } from './turn-sources.js';

export interface IndexedFragment extends CitableFragment {
  /** Its index in the document, from 0. */
  readonly idx: number;
}

/** For the model, before the fragments of an answer. */
export const HOW_TO_USE = `${CITE} ${QUOTED_DATA}`;

/** The longest number that a source can get. */
const ANY_NUMBER = 999;

/** Escaping makes the nine characters of a tag three longer. */
const ESCAPED = 12 / 9;

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

  /** Adds the beginning of a fragment that is longer than all the room. False as for `add`. */
  addBeginning(fragment: IndexedFragment): boolean {
    const { content } = fragment;
    const overhead = this.quoted({ ...fragment, content: '' }, ANY_NUMBER).length + 2;
    const characters = Math.floor((this.room - overhead) / ESCAPED);
    if (characters < 1) return false;
    return this.add({ ...fragment, content: content.slice(0, characters).toWellFormed() });
  }

  private quoted(fragment: IndexedFragment, number: number): string {
    const { docId, idx } = fragment;
    return quotedSource(sourceOf(fragment, number), { docId, index: idx });
  }
}

/** No further fragment fits into the turn. */
export class TurnFullError extends ToolFailure {
  constructor() {
    super('This turn has as many fragments as it can have. Answer from those that you have.');
  }
}
