import { posix } from 'node:path';
import picomatch from 'picomatch';

/** The pattern or glob is not valid. The message is for the model. */
export class SearchPatternError extends Error {
  override readonly name = 'SearchPatternError';
}

/** The search ended early; what it has found is valid. */
export class SearchStoppedError extends Error {
  override readonly name = 'SearchStoppedError';
}

/** picomatch compiles to a backtracking regular expression, so everything that makes it backtrack is limited. */
const MAX_PATTERN_CHARS = 1_000;
const MAX_STARS_IN_NAME = 3;
const MAX_GLOBSTARS = 2;
const MAX_ALTERNATIVES = 64;
/** Total time that one glob may spend matching. Within the limits one match takes some 50 ms at most. */
const MATCHING_MS = 2_000;

/**
 * A glob as in .gitignore, with braces: `*` and `?` stay within a name, `**` spans folders. Without a slash it matches
 * names at every depth, with one it is relative to the folder that is searched. Parentheses and `|` are plain text.
 */
export class Glob {
  /** The pattern of the file name alone, if ripgrep can preselect files by it. */
  readonly namePattern: string | undefined;
  private readonly isMatch: (path: string) => boolean;
  private spentMs = 0;

  /** SearchPatternError for an invalid or too complex glob. */
  constructor(text: string) {
    checkComplexity(text);
    const pattern = normalised(text);
    const name = pattern.slice(pattern.lastIndexOf('/') + 1);
    // Braces may span slashes, and ripgrep gives the other characters a meaning of its own.
    const isPlain = /^[^[\]\\:{}]*(\{[^[\]\\:{}]*\}[^[\]\\:{}]*)*$/.test(name);
    this.namePattern = isPlain && !name.includes('**') ? name : undefined;
    const literal = pattern.replace(/\\.|[()|]/gs, (part) =>
      part.length > 1 ? part : `\\${part}`,
    );
    this.isMatch = picomatch(literal, { dot: true, noextglob: true, nonegate: true, posix: true });
  }

  /** `path` is relative to the folder that is searched. SearchStoppedError once matching has taken too long. */
  matches(path: string): boolean {
    if (this.spentMs > MATCHING_MS) throw new SearchStoppedError();
    const start = performance.now();
    const isMatch = this.isMatch(path);
    this.spentMs += performance.now() - start;
    return isMatch;
  }
}

/** Filters paths of the workspace by a glob that is relative to `folder`; a leading `!` excludes what it matches. */
export function globFilter(folder: string, glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const isNegated = glob.startsWith('!');
  const parsed = new Glob(isNegated ? glob.slice(1) : glob);
  return (path) => {
    const name = posix.relative(folder, path);
    return parsed.matches(name === '' ? posix.basename(path) : name) !== isNegated;
  };
}

function normalised(text: string): string {
  const anchored = text.replace(/^(\.\/+)+/, '');
  const path = anchored.replace(/^\/+/, '').replace(/\/+/g, '/');
  // A folder stands for what lies in it, not for itself.
  const below = path.replace(/\/(\*\*)?$/, '/**/*');
  return anchored.includes('/') ? below : `**/${below}`;
}

function checkComplexity(text: string): void {
  if (text.length > MAX_PATTERN_CHARS) {
    throw new SearchPatternError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
  }
  const plain = text.replace(/\\.|\[[!^]?\]?[^\]]*\]/gs, '_');
  if (alternativesOf(plain) > MAX_ALTERNATIVES) {
    throw new SearchPatternError(`its braces have more than ${MAX_ALTERNATIVES} alternatives`);
  }
  if ((plain.match(/\*{2,}/g) ?? []).length > MAX_GLOBSTARS) {
    throw new SearchPatternError(`it has more than ${MAX_GLOBSTARS} **`);
  }
  if (plain.split('/').some((name) => (name.match(/\*+/g) ?? []).length > MAX_STARS_IN_NAME)) {
    throw new SearchPatternError(`it has more than ${MAX_STARS_IN_NAME} * in one name`);
  }
}

/** An upper bound: the product of what each pair of braces offers. Other than in a shell, braces must be balanced. */
function alternativesOf(text: string): number {
  const open: number[] = [];
  let total = 1;
  for (const character of text) {
    if (character === '{') open.push(1);
    else if (character === ',' && open.length > 0) open.push((open.pop() ?? 0) + 1);
    else if (character === '}') total *= open.pop() ?? Infinity;
    if (total === Infinity) break;
  }
  if (open.length > 0 || total === Infinity) {
    throw new SearchPatternError('a brace is not balanced; write \\{ for the character itself');
  }
  return total;
}
