import { posix } from 'node:path';
import { SearchPatternError } from './search.query.js';
import type { SearchScope } from './search.query.js';

/** Alternatives that the braces of one glob may come to. */
const ALTERNATIVES = 256;

type Piece =
  | { readonly kind: 'text'; readonly character: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'one' }
  | { readonly kind: 'set'; readonly fits: (character: string) => boolean };

/** A name of a path as pieces; `**` stands for any number of names. */
type Segment = readonly Piece[] | '**';

/**
 * A pattern for paths as of gitignore, with braces: `*` and `?` stay within a name, `**` goes over any number of folders.
 * Without a slash it fits names at every depth, with one it is relative to the folder that is searched. Matching takes
 * time that grows with the product of both lengths at most, so a hostile pattern cannot hold up the service.
 */
export class Glob {
  /** Each fits; none of them has braces. */
  readonly alternatives: readonly string[];
  /** Patterns for the last name, one of which fits whatever the glob fits; undefined when that can be any name. */
  readonly names: readonly string[] | undefined;
  private readonly segments: readonly (readonly Segment[])[];

  /** SearchPatternError when the text cannot be read. */
  constructor(text: string) {
    this.alternatives = expanded(text).map(normalised);
    this.segments = this.alternatives.map((alternative) => alternative.split('/').map(segmentOf));
    const names = this.alternatives.map((alternative) => alternative.split('/').at(-1) ?? '');
    this.names = names.includes('**') ? undefined : names;
  }

  /** The path is relative to the folder that is searched. */
  fits(path: string): boolean {
    const names = path.split('/');
    return this.segments.some((segments) => fitsAll(segments, names));
  }
}

/** Whether the search wants a path, given from the workspace on. SearchPatternError when its glob cannot be read. */
export function wantedBy({
  path: place,
  glob,
}: Pick<SearchScope, 'path' | 'glob'>): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const isNegated = glob.startsWith('!');
  const parsed = new Glob(isNegated ? glob.slice(1) : glob);
  return (path) => {
    const name = posix.relative(place, path);
    return parsed.fits(name === '' ? posix.basename(path) : name) !== isNegated;
  };
}

/** From the folder on, without braces. */
function normalised(text: string): string {
  const anchored = text.replace(/^(\.\/+)+/, '');
  const path = anchored.replace(/^\/+/, '').replace(/\/+/g, '/');
  const deep = path.endsWith('/') ? `${path}**` : path;
  return anchored.includes('/') ? deep : `**/${deep}`;
}

/** All texts that the braces stand for. Other than in a shell, a brace without a partner is an error. */
function expanded(text: string): string[] {
  const braces = innermost(text);
  if (!braces) {
    if (/[{}]/.test(text.replace(/\\.|\[[^\]]*\]/gs, ''))) {
      throw new SearchPatternError('a brace has no partner; write \\{ for the character itself');
    }
    return [text];
  }
  const { start, end } = braces;
  const found: string[] = [];
  for (const choice of text.slice(start + 1, end).split(',')) {
    found.push(...expanded(text.slice(0, start) + choice + text.slice(end + 1)));
    if (found.length > ALTERNATIVES) {
      throw new SearchPatternError(`its braces come to more than ${ALTERNATIVES} alternatives`);
    }
  }
  return found;
}

/** The first pair of braces that holds no other. */
function innermost(text: string): { readonly start: number; readonly end: number } | undefined {
  let start: number | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '{') start = at;
    else if (character === '}' && start !== undefined) return { start, end: at };
  }
  return undefined;
}

function segmentOf(text: string): Segment {
  if (text === '**') return '**';
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    const set = character === '[' ? /^\[([!^]?)(\]?[^\]]*)\]/.exec(text.slice(at)) : null;
    if (set) {
      pieces.push({ kind: 'set', fits: setOf(set[2] ?? '', set[1] !== '') });
      at += set[0].length - 1;
    } else if (character === '*') {
      if (pieces.at(-1)?.kind !== 'any') pieces.push({ kind: 'any' });
    } else if (character === '?') {
      pieces.push({ kind: 'one' });
    } else {
      if (character === '\\') at += 1;
      pieces.push({ kind: 'text', character: text[at] ?? '\\' });
    }
  }
  return pieces;
}

function setOf(members: string, isNegated: boolean): (character: string) => boolean {
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? '';
    const to = members[at + 1] === '-' ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (character) =>
    ranges.some(([from, to]) => character >= from && character <= to) !== isNegated;
}

/** Row by row: which of the first names each of the first segments can stand for. */
function fitsAll(segments: readonly Segment[], names: readonly string[]): boolean {
  let reached = names.map(() => false);
  reached.unshift(true);
  for (const [index, segment] of segments.entries()) {
    const next = reached.map(() => false);
    const isLast = index === segments.length - 1;
    for (const [at, isReached] of reached.entries()) {
      if (segment === '**') {
        // At the end, it stands for what lies below, not for the folder itself.
        next[at] =
          (isReached && !isLast) ||
          (at > 0 && ((next[at - 1] ?? false) || (reached[at - 1] ?? false)));
      } else if (isReached && at < names.length) {
        next[at + 1] = fitsName(segment, names[at] ?? '');
      }
    }
    reached = next;
  }
  return reached.at(-1) ?? false;
}

/** Goes back to the last `*` alone, which suffices. */
function fitsName(pieces: readonly Piece[], name: string): boolean {
  let [piece, at, star, from] = [0, 0, -1, 0];
  while (at < name.length) {
    const wanted = pieces[piece];
    if (wanted?.kind === 'any') {
      star = piece;
      from = at;
      piece += 1;
    } else if (wanted && fitsCharacter(wanted, name[at] ?? '')) {
      piece += 1;
      at += 1;
    } else if (star >= 0) {
      piece = star + 1;
      from += 1;
      at = from;
    } else {
      return false;
    }
  }
  return pieces.slice(piece).every(({ kind }) => kind === 'any');
}

function fitsCharacter(piece: Piece, character: string): boolean {
  switch (piece.kind) {
    case 'text':
      return piece.character === character;
    case 'set':
      return piece.fits(character);
    default:
      return true;
  }
}
