/** A file's name in a unified diff. */
export interface PatchName {
  readonly name: string;
  /** The file is not there on this side. */
  readonly isNull: boolean;
  has(prefix: string): boolean;
  /** Without the prefix, if it has it. */
  without(prefix: string): string;
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Reads a name as git and diff write it: quoted where it holds odd characters, with a time after a tab at most. */
export function readName(given: string): PatchName {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(given)?.[1];
  const name = quoted === undefined ? (given.split('\t')[0] ?? '').trimEnd() : unquoted(quoted);
  return {
    name,
    isNull: name === '/dev/null',
    has: (prefix) => name.startsWith(prefix),
    without: (prefix) => (name.startsWith(prefix) ? name.slice(prefix.length) : name),
  };
}

/** The escapes stand for bytes of UTF-8, in octal or by a letter as in C. */
function unquoted(text: string): string {
  const parts = text.match(/\\[0-3][0-7]{2}|\\.|[^\\]+/gs) ?? [];
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part);
      if (part.length === 4) return Buffer.of(Number.parseInt(part.slice(1), 8));
      const code = ESCAPES[part.charAt(1)];
      return code === undefined ? Buffer.from(part) : Buffer.of(code);
    }),
  ).toString('utf8');
}
