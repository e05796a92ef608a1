import { Injectable } from '@nestjs/common';
import type { KnowledgeBase } from '../knowledge/index.js';
import { NeighbourRepository } from './retrieval.repository.js';
import type { IndexRange, NeighbourFragment } from './retrieval.repository.js';
import type { RetrievedFragment } from './retrieval.js';

/** A fragment with those around it, as one text in the order of the document. */
export interface Surroundings {
  readonly content: string;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly fids: readonly string[];
}

/** The settings of a base that decide about neighbours. */
export type NeighbourSettings = Pick<
  KnowledgeBase,
  'neighbours' | 'neighbourCharacters' | 'textBlockSize'
>;

type Hit = Pick<RetrievedFragment, 'fid' | 'attachmentId' | 'idx'>;

/** Hits of one base. */
export interface BaseHits {
  readonly knowledge: NeighbourSettings;
  readonly fragments: readonly Hit[];
}

/** Maximum number of neighbours on each side of a hit. */
const MAX_NEIGHBOUR_COUNT = 20;
/** Fragments may be much smaller than the size of blocks, because sections end them. */
const SMALL_FRAGMENTS = 4;
/** Fragments that are read for one question. */
const MAX_READ_COUNT = 4_000;

@Injectable()
export class NeighbourService {
  constructor(private readonly repository: NeighbourRepository) {}

  /** The neighbours of what was found in bases that send them; undefined when none of them does. */
  async of(tenantId: string, baseHits: readonly BaseHits[]): Promise<Neighbourhood | undefined> {
    const expandable = baseHits.filter(({ knowledge }) => hasNeighbours(knowledge));
    const ranges = rangesOf(expandable);
    if (ranges.length === 0) return undefined;
    const rows = await this.repository.inRanges(tenantId, ranges, MAX_READ_COUNT);
    return new Neighbourhood(expandable, rows);
  }
}

/**
 * The neighbours of hits, each shown once: what is taken for one hit, and what is reserved as a hit itself, is no neighbour of
 * another one.
 */
export class Neighbourhood {
  private readonly settings = new Map<string, NeighbourSettings>();
  private readonly documents = new Map<number, NeighbourFragment[]>();
  private readonly places = new Map<string, { document: NeighbourFragment[]; at: number }>();
  private readonly resultIds = new Set<string>();

  /** @param rows In the order of their documents. */
  constructor(baseHits: readonly BaseHits[], rows: readonly NeighbourFragment[]) {
    for (const { knowledge, fragments } of baseHits) {
      for (const { fid } of fragments) this.settings.set(fid, knowledge);
    }
    for (const row of rows) {
      const document = this.documents.get(row.attachmentId) ?? [];
      this.documents.set(row.attachmentId, document);
      this.places.set(row.fid, { document, at: document.push(row) - 1 });
    }
  }

  /** Marks fragments that are sent for themselves. */
  reserve(fids: readonly string[]): void {
    for (const fid of fids) this.resultIds.add(fid);
  }

  take({ fids }: Surroundings): void {
    this.reserve(fids);
  }

  /** The hit with its neighbours, up to a part of what its base allows; undefined without any. */
  around(fid: string, part = 1): Surroundings | undefined {
    const place = this.places.get(fid);
    const settings = this.settings.get(fid);
    if (!place || !settings || !hasNeighbours(settings)) return undefined;
    const { document, at } = place;
    const most = settings.neighbourCharacters * part;
    const range = { first: at, last: at };
    let added = 0;
    const open = { after: true, before: true };
    while (open.after || open.before) {
      for (const side of ['after', 'before'] as const) {
        if (!open[side]) continue;
        const next = side === 'after' ? range.last + 1 : range.first - 1;
        const edge = document[side === 'after' ? range.last : range.first];
        const neighbour = document[next];
        const size = neighbour?.content.length ?? 0;
        if (
          !neighbour ||
          !edge ||
          added + size > most ||
          !this.isFree(neighbour, edge) ||
          (settings.neighbours === 'section' && !isInSection(neighbour, document[at]))
        ) {
          open[side] = false;
          continue;
        }
        added += size;
        if (side === 'after') range.last = next;
        else range.first = next;
      }
    }
    if (added === 0) return undefined;
    const fragments = document.slice(range.first, range.last + 1);
    return {
      content: joined(fragments),
      firstIndex: fragments[0]?.idx ?? 0,
      lastIndex: fragments.at(-1)?.idx ?? 0,
      fids: fragments.map((one) => one.fid),
    };
  }

  private isFree(neighbour: NeighbourFragment, edge: NeighbourFragment): boolean {
    return Math.abs(neighbour.idx - edge.idx) === 1 && !this.resultIds.has(neighbour.fid);
  }
}

function hasNeighbours({ neighbours }: NeighbourSettings): boolean {
  return neighbours === 'adjacent' || neighbours === 'section';
}

/** Whether a fragment is below the same headings as a hit, or deeper. */
function isInSection(neighbour: NeighbourFragment, hit: NeighbourFragment | undefined): boolean {
  if (hit === undefined) return false;
  const section = hit.headings;
  if (section === null) return neighbour.headings === null;
  return neighbour.headings === section || neighbour.headings?.startsWith(`${section} > `) === true;
}

/** The ranges to read, merged where they overlap. */
function rangesOf(baseHits: readonly BaseHits[]): IndexRange[] {
  const ranges = baseHits.flatMap(({ knowledge, fragments }) => {
    const { neighbourCharacters, textBlockSize } = knowledge;
    const likely = Math.ceil((SMALL_FRAGMENTS * neighbourCharacters) / Math.max(1, textBlockSize));
    const reach = Math.min(MAX_NEIGHBOUR_COUNT, Math.max(2, likely));
    return fragments.map(({ attachmentId, idx }) => {
      return { attachmentId, first: Math.max(0, idx - reach), last: idx + reach };
    });
  });
  ranges.sort((a, b) => a.attachmentId - b.attachmentId || a.first - b.first);
  const merged: IndexRange[] = [];
  for (const range of ranges) {
    const last = merged.at(-1);
    if (last?.attachmentId === range.attachmentId && range.first <= last.last + 1) {
      merged[merged.length - 1] = { ...last, last: Math.max(last.last, range.last) };
    } else merged.push(range);
  }
  return merged;
}

/** Fragments that follow each other, without what the later ones repeat of those before them. */
export function joined(fragments: readonly NeighbourFragment[]): string {
  let text = '';
  let above: NeighbourFragment | undefined;
  for (const fragment of fragments) {
    text += above === undefined ? fragment.content : following(above, fragment);
    above = fragment;
  }
  return text;
}

/** Text that a fragment adds to the one before it. */
function following(above: NeighbourFragment, fragment: NeighbourFragment): string {
  const before = ownText(above);
  const ownPart = ownText(fragment);
  if (!before || !ownPart) {
    const repeated = repetition(above.content, fragment.content);
    return repeated > 0 ? fragment.content.slice(repeated) : `\n${fragment.content}`;
  }
  const shared = before.end - ownPart.start;
  if (shared > 0) return ownPart.text.slice(shared);
  // A table has its header once, as its first fragment has it or a later one repeats it.
  const addedText = above.content.includes(ownPart.header) ? ownPart.text : fragment.content;
  if (shared === 0) return addedText;
  // The text between two fragments is blank.
  return shared === -1 ? `\n${addedText}` : `\n\n${addedText}`;
}

interface OwnText {
  readonly start: number;
  readonly end: number;
  /** The repeated header of a table above it. */
  readonly header: string;
  readonly text: string;
}

/** The part of a fragment that stands at its place in the document; undefined where that is not known. */
function ownText({ content, charStart, charEnd, edited }: NeighbourFragment): OwnText | undefined {
  if (edited || charStart === null || charEnd === null) return undefined;
  const above = content.length - (charEnd - charStart);
  if (above < 0) return undefined;
  return {
    start: charStart,
    end: charEnd,
    header: content.slice(0, above),
    text: content.slice(above),
  };
}

/** Fewer equal characters are chance. */
const MIN_REPETITION_CHARS = 8;
const MAX_REPETITION_CHARS = 2_000;

/** Number of characters at the beginning of a text that repeat the end of the previous one. */
function repetition(before: string, text: string): number {
  const most = Math.min(before.length, text.length, MAX_REPETITION_CHARS);
  for (let length = most; length >= MIN_REPETITION_CHARS; length -= 1) {
    if (before.endsWith(text.slice(0, length))) return length;
  }
  return 0;
}
