const HYPHENS = ['-', '\u2010'];
const HYPHEN = '[-\\u2010]';
const WORDS = new RegExp(`\\p{L}[\\p{L}\\p{M}]*(?:${HYPHEN}\\p{L}[\\p{L}\\p{M}]*)*`, 'gu');
const BROKEN = new RegExp(`(\\p{L}[\\p{L}\\p{M}]*(?:${HYPHEN}[\\p{L}\\p{M}]+)*)${HYPHEN}$`, 'u');
const REST = new RegExp(`^\\p{Ll}[\\p{L}\\p{M}]*(?:${HYPHEN}[\\p{L}\\p{M}]+)*`, 'u');
/** The halves of a word in capitals. */
const BROKEN_CAPITALS = new RegExp(`(?<![\\p{L}\\p{M}-])(\\p{Lu}{2,})${HYPHEN}$`, 'u');
const REST_CAPITALS = /^\p{Lu}{2,}(?![\p{L}\p{M}])/u;

const LONGEST = 100;

/** Shorter words differ by more than their endings. */
const STEM_LENGTH = 5;
const ENDING_LENGTH = 3;

/** Number of resolved hyphens that shows how a document uses them at line ends. */
const ENOUGH = 3;
const MOSTLY = 4;

/**
 * Joins the halves of words that a line end divides: where the document writes the word (or an inflection of it) in one
 * piece, and where nothing but such words stands at its line ends and neither half is a word of its own. A compound
 * that the document writes with a hyphen keeps it; what is unknown stays as it is.
 */
export class LineEndHyphens {
  private readonly words = new Set<string>();
  private readonly stems = new Set<string>();
  private readonly compounds = new Set<string>();
  /** Text whose words are not known yet: most documents break none. */
  private unread: string[] = [];
  private readonly broken: (readonly [string, string])[] = [];
  private divides: boolean | undefined;

  /** Reads the lines of a paragraph or cell. All of them come before the first call of `join`. */
  learn(lines: readonly string[]): void {
    let rest = 0;
    lines.forEach((line, index) => {
      const brokenWord = brokenAt(line, lines[index + 1]);
      const end = brokenWord ? line.length - brokenWord.head.length - 1 : line.length;
      if (end > rest) this.unread.push(line.slice(rest, end));
      rest = brokenWord?.tail.length ?? 0;
      if (brokenWord) this.broken.push([brokenWord.head, brokenWord.tail]);
    });
  }

  /** The lines, without those that nothing is left of. */
  join(lines: readonly string[]): string[] {
    const joined: string[] = [];
    for (const line of lines) {
      const before = joined.at(-1);
      const brokenWord = before === undefined ? undefined : brokenAt(before, line);
      const between = brokenWord && this.between(brokenWord.head, brokenWord.tail);
      if (before === undefined || !brokenWord || between === undefined) {
        joined.push(line);
        continue;
      }
      // The token includes the marks behind the word.
      const [token = ''] = /^\S+/.exec(line) ?? [];
      joined[joined.length - 1] = `${before.slice(0, -1)}${between}${token}`;
      const remainder = line.slice(token.length).trimStart();
      if (remainder !== '') joined.push(remainder);
    }
    return joined;
  }

  private learnWords(text: string): void {
    for (const [rawWord] of text.matchAll(WORDS)) {
      const word = plain(rawWord);
      if (word.includes('-')) this.compounds.add(word);
      for (const part of word.split('-')) {
        this.words.add(part);
        for (const stem of stemsOf(part)) this.stems.add(stem);
      }
    }
  }

  /** The text between the halves: nothing, a hyphen, or unknown. */
  private between(head: string, tail: string): '' | '-' | undefined {
    const fromDocument = this.joinFromDocument(head, tail);
    if (fromDocument !== undefined) return fromDocument;
    // Two abbreviations, such as ISO-IEC, are no words of the document either.
    if (/^\p{Lu}/u.test(tail)) return undefined;
    this.divides ??= this.dividesWords();
    const first = plain(head);
    const isWord = this.words.has(plain(tail)) || (this.words.has(first) && first.length > 3);
    return this.divides && !isWord && !head.includes('-') ? '' : undefined;
  }

  private joinFromDocument(head: string, tail: string): '' | '-' | undefined {
    for (const text of this.unread) this.learnWords(text);
    this.unread = [];
    const [first, second] = [plain(head), plain(tail)];
    if (this.compounds.has(`${first}-${second}`)) return '-';
    const start = first.slice(first.lastIndexOf('-') + 1);
    return this.isWord(`${start}${second.split('-')[0] ?? ''}`) ? '' : undefined;
  }

  private isWord(word: string): boolean {
    if (this.words.has(word) || (word.length >= STEM_LENGTH && this.stems.has(word))) return true;
    return stemsOf(word).some((stem) => this.words.has(stem));
  }

  private dividesWords(): boolean {
    const joins = this.broken.map(([head, tail]) => this.joinFromDocument(head, tail));
    const words = joins.filter((between) => between === '').length;
    return words >= ENOUGH && words >= MOSTLY * joins.filter((between) => between === '-').length;
  }
}

/** The word without an ending of up to some letters, where enough is left. */
function stemsOf(word: string): string[] {
  const stems: string[] = [];
  const shortest = Math.max(word.length - ENDING_LENGTH, STEM_LENGTH);
  for (let length = word.length - 1; length >= shortest; length -= 1) {
    stems.push(word.slice(0, length));
  }
  return stems;
}

function brokenAt(
  line: string,
  next: string | undefined,
): { readonly head: string; readonly tail: string } | undefined {
  if (next === undefined || !HYPHENS.includes(line.slice(-1))) return undefined;
  // Only the ends of long lines are searched, because no word is longer.
  const [end, start] = [line.slice(-LONGEST), next.slice(0, LONGEST)];
  return (
    halves(BROKEN.exec(end), REST.exec(start)) ??
    halves(BROKEN_CAPITALS.exec(end), REST_CAPITALS.exec(start))
  );
}

function halves(
  broken: RegExpExecArray | null,
  rest: RegExpExecArray | null,
): { readonly head: string; readonly tail: string } | undefined {
  const [head, tail] = [broken?.[1], rest?.[0]];
  return head === undefined || tail === undefined ? undefined : { head, tail };
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll('\u2010', '-');
}
