import type { Dirent } from 'node:fs';
import { lstat, opendir, readdir } from 'node:fs/promises';

/**
 * A path below the workspace's root, one character a byte (latin1): names on Linux are bytes, and a name that is no
 * UTF-8 must be as well hidden as any other.
 */
export type BytePath = string;

/** What lies over a path of the workspace while a command runs. */
export type Cover =
  /** Cannot be renamed or removed; otherwise as it is. */
  | 'pinned'
  /** Can be read, and not changed. */
  | 'read-only'
  /** A copy of it in which no secrets are. */
  | 'redacted-file'
  /** A copy of it that is two seconds newer. */
  | 'newer-file'
  /** A file of the same size and time that cannot be read. */
  | 'hidden-file'
  /** A folder that cannot be read. */
  | 'hidden-folder';

export interface Mount {
  readonly path: BytePath;
  readonly cover: Cover;
}

export function bytesOf(text: string): BytePath {
  return Buffer.from(text).toString('latin1');
}

const ASCII = /^[\x20-\x7e]*$/;

export function textOf(path: BytePath): string {
  if (ASCII.test(path)) return path;
  return Buffer.from(path, 'latin1').toString();
}

/** As the functions of node:fs take it. */
export function bufferOf(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1');
}

/** Of a folder itself: 50,000 names or more, which take 30 ms to read at once. */
const LARGE_FOLDER = 2 * 1024 * 1024;
const ENTRIES_AT_ONCE = 1_000;

/** What is in the folder. One that is large is read in pieces, between which other work gets its turn. */
export async function entriesIn(folder: BytePath): Promise<Dirent[]> {
  const path = bufferOf(folder);
  const encoding = 'latin1';
  const { size } = await lstat(path);
  // Of a small one that would take three times as long.
  if (size < LARGE_FOLDER) return readdir(path, { encoding, withFileTypes: true });
  const entries: Dirent[] = [];
  const options = { encoding, bufferSize: ENTRIES_AT_ONCE } as const;
  for await (const entry of await opendir(path, options)) entries.push(entry);
  return entries;
}

export function joined(folder: BytePath, name: BytePath): BytePath {
  return folder === '' ? name : `${folder}/${name}`;
}

/** The folders above a path, the outermost first, without the root. */
export function foldersAbove(path: BytePath): BytePath[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

const STRICTNESS: readonly Cover[] = [
  'pinned',
  'read-only',
  'newer-file',
  'redacted-file',
  'hidden-file',
  'hidden-folder',
];

/**
 * The mounts in the order in which they are to be made: a folder before what is in it, one a path, and none below a
 * hidden folder. Of two covers for one path the stricter counts, and nothing can be written below what is read-only.
 */
export function ordered(mounts: Iterable<Mount>): Mount[] {
  const covers = new Map<BytePath, Cover>();
  for (const { path, cover } of mounts) {
    const other = covers.get(path);
    const isStricter = !other || STRICTNESS.indexOf(cover) > STRICTNESS.indexOf(other);
    if (isStricter) covers.set(path, cover);
  }
  const isNeeded = ({ path, cover }: Mount): boolean => {
    const above = foldersAbove(path).map((folder) => covers.get(folder));
    return !above.includes('hidden-folder') && !(cover === 'pinned' && above.includes('read-only'));
  };
  return [...covers]
    .map(([path, cover]) => ({ path, cover }))
    .filter(isNeeded)
    .sort((a, b) => depth(a) - depth(b) || (a.path < b.path ? -1 : 1));
}

function depth({ path }: Mount): number {
  return path.split('/').length;
}
