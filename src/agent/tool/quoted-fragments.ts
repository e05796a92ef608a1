import { fits, longestBeginning, sizeOf } from '../../model/index.js';
import type { TextSize, TokenCounter } from '../../model/index.js';
import type { CitableFragment, Neighbourhood } from '../../retrieval/index.js';
import { ToolFailure } from './agent-tool.js';
import { CITE, QUOTED_DATA, quotedSource, sourceOf } from './sources.js';
import type { SentFragment, Source, TurnSources } from './sources.js';

/** Maximum fragments per call, and their characters including tags and document names. */
export const MAX_QUOTED_FRAGMENTS = 20;
export const MAX_QUOTED_CHARS = 24_000;

/** Tells the model how to use the fragments, before them. */
export const HOW_TO_USE = `${CITE} ${QUOTED_DATA}`;

/** Budget for the fragments of one question or answer, including tags and document names. */
export interface QuoteRoom extends TextSize {
  readonly pieces: number;
}

export interface QuoteOptions<Fragment> {
  readonly counter: TokenCounter;
  /** Tag attributes of a fragment besides its number, document, page and section. */
  readonly facts?: (fragment: Fragment) => Readonly<Record<string, string | number>>;
  /** Fragments in the order of a document: nothing follows behind one that does not fit. */
  readonly isOrdered?: boolean;
  /** The fragments around those that were found, where their bases send them, too. */
  readonly neighbours?: Neighbourhood | undefined;
}

/** A fragment that was found and is not sent. */
export interface LeftOutFragment<Fragment> {
  readonly fragment: Fragment;
  /** `room`: it does not fit; `pieces`: as many as are sent at most come before it. */
  readonly reason: 'room' | 'pieces';
}

/** The quoted fragments and the omitted ones. */
export interface QuotedFragments<Fragment> {
  /** Quotations for the model, in the order of the sources. */
  readonly texts: readonly string[];
  readonly sources: readonly Source[];
  readonly leftOut: readonly LeftOutFragment<Fragment>[];
}

/** The longest number that a source can get. */
const ANY_NUMBER = 999;
/** Size of the separator between two quoted fragments: two line feeds. */
const BETWEEN: TextSize = { characters: 2, tokens: 1 };
/** A shorter beginning of a fragment is not worth a source. */
const MIN_BEGINNING_CHARS = 80;
/** Share of the budget for the best fragment if it does not fit as a whole; the others share the rest. */
const BEST_SHARE = 0.5;
/** Shares of a base's neighbour budget, tried in order until they fit. */
const NEIGHBOUR_SHARES = [1, 1 / 2, 1 / 4];

/**
 * Quotes and numbers the fragments that fit, best first. The best one is cut where it does not fit as a whole; of the others
 * those that do not fit are left out, and smaller ones behind them are still considered. Remaining space is filled
 * with neighbours, so that these never displace a fragment that was found.
 */
export function quoteFragments<Fragment extends CitableFragment>(
  ranked: readonly Fragment[],
  turn: TurnSources,
  room: QuoteRoom,
  options: QuoteOptions<Fragment>,
): QuotedFragments<Fragment> {
  const choice = new Choice(turn, room, options);
  for (const fragment of ranked) choice.consider(fragment);
  const chosen = choice.end();
  const quoted = chosen.map(({ fragment, sentFragment, content }) => {
    const source = turn.add(sentFragment);
    return { source, text: textOf(fragment, source, content, options) };
  });
  return {
    texts: quoted.map(({ text }) => text),
    sources: quoted.map(({ source }) => source),
    leftOut: choice.leftOut,
  };
}

/** A fragment that is sent. */
interface Chosen<Fragment> {
  readonly fragment: Fragment;
  readonly sentFragment: SentFragment;
  /** Content for the model, including neighbours. */
  readonly content: string;
  readonly size: TextSize;
}

class Choice<Fragment extends CitableFragment> {
  readonly leftOut: LeftOutFragment<Fragment>[] = [];
  private readonly chosen: Chosen<Fragment>[] = [];
  /** The best fragment, when it does not fit as a whole. */
  private tooLong: Fragment | undefined;
  private remainingSpace: TextSize;
  private vacancies: number;
  private isClosed = false;
  private considered = 0;

  constructor(
    private readonly turn: TurnSources,
    private readonly room: QuoteRoom,
    private readonly options: QuoteOptions<Fragment>,
  ) {
    this.remainingSpace = room;
    this.vacancies = turn.vacancies;
  }

  consider(fragment: Fragment): void {
    this.considered += 1;
    const count = this.chosen.length + (this.tooLong ? 1 : 0);
    const isNew = !this.turn.has(fragment.fid);
    if (count >= this.room.pieces || (isNew && this.vacancies === 0)) {
      this.leftOut.push({ fragment, reason: 'pieces' });
      return;
    }
    const size = this.isClosed ? undefined : this.fittingSize(fragment);
    if (size) {
      this.remainingSpace = minus(this.remainingSpace, size);
      this.chosen.push({ fragment, sentFragment: fragment, content: fragment.content, size });
    } else if (this.considered === 1) {
      this.tooLong = fragment;
      this.remainingSpace = share(this.remainingSpace, 1 - BEST_SHARE);
    } else {
      this.leftOut.push({ fragment, reason: 'room' });
      this.isClosed ||= this.options.isOrdered === true;
      return;
    }
    if (isNew) this.vacancies -= 1;
    this.isClosed ||= this.tooLong !== undefined && this.options.isOrdered === true;
  }

  end(): readonly Chosen<Fragment>[] {
    const best = this.tooLong;
    if (best) {
      const used = this.chosen.reduce((sum, { size }) => plus(sum, size), NOTHING);
      this.remainingSpace = minus(this.room, used);
      const cut = this.cut(best);
      if (cut) {
        this.chosen.unshift(cut);
        this.remainingSpace = minus(this.remainingSpace, cut.size);
      } else this.leftOut.unshift({ fragment: best, reason: 'room' });
    }
    const { neighbours } = this.options;
    return neighbours ? this.withNeighbours(neighbours) : this.chosen;
  }

  private cut(fragment: Fragment): Chosen<Fragment> | undefined {
    const { counter } = this.options;
    const { content } = fragment;
    const cutFrom = content.length;
    const room = minus(this.remainingSpace, BETWEEN);
    const beginning = longestBeginning(content, room, counter, (part) =>
      this.text({ ...fragment, cutFrom }, part, fragment),
    );
    if (beginning.length < Math.min(MIN_BEGINNING_CHARS, cutFrom)) return undefined;
    const sentFragment = { ...fragment, content: beginning, cutFrom };
    return {
      fragment,
      sentFragment,
      content: beginning,
      size: this.sizeOf(fragment, beginning, sentFragment),
    };
  }

  private withNeighbours(neighbours: Neighbourhood): readonly Chosen<Fragment>[] {
    neighbours.reserve(this.chosen.map(({ fragment }) => fragment.fid));
    return this.chosen.map((one) => {
      const { fragment, sentFragment } = one;
      if (sentFragment.cutFrom !== undefined) return one;
      for (const part of NEIGHBOUR_SHARES) {
        const surroundings = neighbours.around(fragment.fid, part);
        if (!surroundings) break;
        const { content, firstIndex, lastIndex } = surroundings;
        const wider = { ...sentFragment, firstIndex, lastIndex };
        const size = this.sizeOf(fragment, content, wider);
        const more = minus(size, one.size);
        if (!fits(more, this.remainingSpace)) continue;
        this.remainingSpace = minus(this.remainingSpace, more);
        neighbours.take(surroundings);
        return { fragment, sentFragment: wider, content, size };
      }
      return one;
    });
  }

  /** A text that has too many characters is not counted. */
  private fittingSize(fragment: Fragment): TextSize | undefined {
    if (fragment.content.length > this.remainingSpace.characters) return undefined;
    const size = this.sizeOf(fragment, fragment.content);
    return fits(size, this.remainingSpace) ? size : undefined;
  }

  private sizeOf(
    fragment: Fragment,
    content: string,
    sentFragment: SentFragment = fragment,
  ): TextSize {
    return plus(sizeOf(this.text(sentFragment, content, fragment), this.options.counter), BETWEEN);
  }

  private text(sentFragment: SentFragment, content: string, fragment: Fragment): string {
    return textOf(fragment, sourceOf(sentFragment, ANY_NUMBER), content, this.options);
  }
}

function textOf<Fragment>(
  fragment: Fragment,
  source: Source,
  content: string,
  { facts }: QuoteOptions<Fragment>,
): string {
  const isCut = source.cutFrom !== undefined;
  return quotedSource(
    { ...source, content },
    { ...facts?.(fragment), ...(isCut && { cut: 'true' }) },
  );
}

const NOTHING: TextSize = { characters: 0, tokens: 0 };

function plus(a: TextSize, b: TextSize): TextSize {
  return { characters: a.characters + b.characters, tokens: a.tokens + b.tokens };
}

function minus(a: TextSize, b: TextSize): TextSize {
  return { characters: a.characters - b.characters, tokens: a.tokens - b.tokens };
}

function share({ characters, tokens }: TextSize, part: number): TextSize {
  return { characters: Math.floor(characters * part), tokens: Math.floor(tokens * part) };
}

/** No further fragment fits into the turn. */
export class TurnFullError extends ToolFailure {
  constructor() {
    super('This turn has as many fragments as it can have. Answer from those that you have.');
  }
}

/** Not even the beginning of a fragment fits into the window of the model. */
export class WindowFullError extends ToolFailure {
  constructor() {
    super(
      'The conversation fills what you can read, so no fragment fits. Answer from what you have.',
    );
  }
}
