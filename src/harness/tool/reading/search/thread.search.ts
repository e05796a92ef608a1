import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { join, posix } from 'node:path';
import ignore from 'ignore';
import type { Ignore } from 'ignore';
import { SKIPPED_FOLDERS } from '../../../../platform/filesystem/index.js';
import { classifyPath } from '../../../workspace/protected-path.js';
import { wantedBy } from './glob.js';
import { SEARCHED_FILE_MIB } from './search.query.js';
import type { FilesQuery, FoundLine, SearchScope, TextQuery } from './search.query.js';

const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const IGNORE_FILE = '.gitignore';
const IGNORE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** Files that the scope holds, the last changed first. */
export function filesIn(query: FilesQuery): string[] {
  const dated: { readonly path: string; readonly time: number }[] = [];
  for (const path of walked(query)) {
    const stats = lstatSync(join(query.root, path), { throwIfNoEntry: false });
    if (stats?.isFile()) dated.push({ path, time: stats.mtimeMs });
  }
  return dated.sort((a, b) => b.time - a.time).map(({ path }) => path);
}

/** Lines with a match and those around them, file by file. A SyntaxError when the pattern cannot be read. */
export function* linesIn(query: TextQuery): Generator<FoundLine> {
  const { pattern, literal, ignoreCase } = query;
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : pattern;
  const expression = expressionOf(source, ignoreCase ? 'i' : '');
  for (const path of walked(query)) {
    const bytes = contentOf(join(query.root, path), SEARCHED_FILE_MIB * 2 ** 20);
    if (bytes && !bytes.includes(0)) yield* matchesIn(path, bytes, { ...query, expression });
  }
}

/** Read as Unicode where that is possible; there, more has to be escaped than elsewhere. */
function expressionOf(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    return new RegExp(source, flags);
  }
}

function* matchesIn(
  path: string,
  content: Buffer,
  { expression, context }: { readonly expression: RegExp; readonly context: number },
): Generator<FoundLine> {
  const lines = linesOf(content);
  const columns = lines.map(({ bytes }) => {
    const text = bytes.toString();
    const index = expression.exec(text)?.index;
    return index === undefined ? undefined : Buffer.byteLength(text.slice(0, index));
  });
  for (const [index, { offset, bytes }] of lines.entries()) {
    const column = columns[index];
    const near = columns.slice(Math.max(0, index - context), index + context + 1);
    if (near.every((one) => one === undefined)) continue;
    const isMatch = column !== undefined;
    yield { path, line: index + 1, offset, bytes, isMatch, column: column ?? 0 };
  }
}

function linesOf(content: Buffer): { readonly offset: number; readonly bytes: Buffer }[] {
  const lines: { offset: number; bytes: Buffer }[] = [];
  for (let offset = 0; offset < content.length;) {
    const found = content.indexOf(NEWLINE, offset);
    const end = found < 0 ? content.length : found;
    lines.push({ offset, bytes: content.subarray(offset, end) });
    offset = end + 1;
  }
  return lines;
}

/** Ordered by name; links are not entered, and neither are secrets and what .gitignore leaves out. */
function* walked(scope: SearchScope): Generator<string> {
  const isWanted = wantedBy(scope);
  const stats = lstatSync(join(scope.root, scope.path), { throwIfNoEntry: false });
  if (stats?.isFile() && isOpen(scope.path) && isWanted(scope.path)) yield scope.path;
  if (!stats?.isDirectory()) return;
  const rules = rulesAbove(scope);
  for (const path of below(scope.root, scope.path, rules)) if (isWanted(path)) yield path;
}

/** Of the folders above the path; those that leave out the path itself do not count, because it was asked for. */
function rulesAbove({ root, path }: SearchScope): IgnoreRules[] {
  const names = path === '' ? [] : path.split('/');
  return names
    .flatMap((_, index) => rulesOf(root, names.slice(0, index).join('/')))
    .filter(({ folder, rules }) => !rules.ignores(`${posix.relative(folder, path)}/`));
}

interface IgnoreRules {
  readonly folder: string;
  readonly rules: Ignore;
}

function* below(root: string, folder: string, above: readonly IgnoreRules[]): Generator<string> {
  const rules = [...above, ...rulesOf(root, folder)];
  for (const entry of entriesOf(join(root, folder))) {
    const path = posix.join(folder, entry.name);
    const isFolder = entry.isDirectory();
    const isLeftOut = rules.some(({ folder: base, rules: one }) =>
      one.ignores(posix.relative(base, path) + (isFolder ? '/' : '')),
    );
    if (isLeftOut || !isOpen(path)) continue;
    if (isFolder && !SKIPPED_FOLDERS.has(entry.name)) yield* below(root, path, rules);
    else if (entry.isFile()) yield path;
  }
}

function rulesOf(root: string, folder: string): IgnoreRules[] {
  const bytes = contentOf(join(root, folder, IGNORE_FILE), IGNORE_BYTES);
  return bytes ? [{ folder, rules: ignore().add(bytes.toString()) }] : [];
}

function isOpen(path: string): boolean {
  const { protection, secret } = classifyPath(path);
  return protection !== 'GIT' && !secret;
}

function entriesOf(folder: string) {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Undefined for what is no regular file of at most so many bytes. */
function contentOf(path: string, limitBytes: number): Buffer | undefined {
  let handle: number | undefined;
  try {
    if (!lstatSync(path).isFile()) return undefined;
    handle = openSync(path, TO_READ);
    const stats = fstatSync(handle);
    return stats.isFile() && stats.size <= limitBytes ? readFileSync(handle) : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
