import type { Dirent } from 'node:fs';
import { lstat, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ignore from 'ignore';
import type { Ignore } from 'ignore';
import { openPromise } from 'yauzl';
import { HEAD_BYTES, typeOf } from '../../platform/storage/index.js';
import { Refusal } from '../parser/format/document-source.js';
import { decodeText } from '../parser/format/text/text-encoding.js';
import { refusalOf } from '../parser/index.js';

type SkipReason =
  | 'binary'
  | 'empty'
  | 'ignored'
  | 'left out always'
  | 'name too long'
  | 'not a file'
  | 'same content'
  | 'symbolic link'
  | 'too large'
  | 'unreadable';

/** A file that can become a document. */
export interface FoundFile {
  /** Path below the folder, with slashes. */
  readonly name: string;
  /** Path by which it can be opened. */
  readonly path: string;
  readonly size: number;
}

/** Skipped entry: a file, or a folder whose name ends with a slash. */
export interface SkippedEntry {
  readonly name: string;
  readonly skipped: SkipReason;
}

interface LoadOptions {
  /** Larger files are skipped. */
  readonly limitBytes: number;
  /** Longer names are skipped (characters). */
  readonly limitName: number;
  /** Whether text is read from images; otherwise images are skipped. */
  readonly recognition?: boolean;
}

export function isSkipped(entry: FoundFile | SkippedEntry): entry is SkippedEntry {
  return 'skipped' in entry;
}

interface Folder {
  readonly path: string;
  /** Path below the root, with a slash at the end; empty for the root. */
  readonly base: string;
  readonly entries: readonly Dirent[];
  /** Ignore rules of the folders above. */
  readonly rules: IgnoreRules;
}

/**
 * Walks a folder or repository, each folder in the order of its names' code units. Ignore files are respected at every
 * level, symbolic links are not followed, and what cannot become a document is answered with its reason. Throws when
 * the folder itself cannot be read.
 */
export async function* loadFolder(
  path: string,
  options: LoadOptions,
): AsyncGenerator<FoundFile | SkippedEntry> {
  const entries = await readdir(path, { withFileTypes: true });
  yield* walk({ path, base: '', entries, rules: IgnoreRules.none }, options);
}

async function* walk(
  { path: folder, base, entries, rules: above }: Folder,
  options: LoadOptions,
): AsyncGenerator<FoundFile | SkippedEntry> {
  const rules = await above.of(folder, base);
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const ownName = entry.isDirectory() ? `${entry.name}/` : entry.name;
    const name = base + ownName;
    if (rules.isNever(ownName)) yield { name, skipped: 'left out always' };
    else if (rules.isIgnored(name)) yield { name, skipped: 'ignored' };
    else if (entry.isSymbolicLink()) yield { name, skipped: 'symbolic link' };
    else if (entry.isFile()) yield await look(name, path, options);
    else if (!entry.isDirectory()) yield { name, skipped: 'not a file' };
    else {
      const below = await readdir(path, { withFileTypes: true }).catch(() => undefined);
      if (below) yield* walk({ path, base: name, entries: below, rules }, options);
      else yield { name, skipped: 'unreadable' };
    }
  }
}

async function look(
  name: string,
  path: string,
  { limitBytes, limitName, recognition = false }: LoadOptions,
): Promise<FoundFile | SkippedEntry> {
  try {
    const { size } = await lstat(path);
    if ([...name].length > limitName) return { name, skipped: 'name too long' };
    if (size === 0) return { name, skipped: 'empty' };
    if (size > limitBytes) return { name, skipped: 'too large' };
    const readable = await isDocument(name, path, recognition);
    return readable ? { name, path, size } : { name, skipped: 'binary' };
  } catch {
    return { name, skipped: 'unreadable' };
  }
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Whether the parser may read the file: a text of any encoding, or a supported format. */
async function isDocument(name: string, path: string, recognition: boolean): Promise<boolean> {
  const head = await headOf(path);
  const mimeType = typeOf(head, name);
  const openZip = () => openPromise(path, { autoClose: false });
  if ((await refusalOf({ name, mimeType, openZip, recognition })) !== undefined) return false;
  return mimeType !== 'application/octet-stream' || isText(head);
}

function isText(head: Buffer): boolean {
  try {
    decodeText(head);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Files of rules in the format of gitignore, the later ones stronger. */
const RULE_FILES = ['.gitignore', '.ignore'];

/** Entries that are never imported, at any depth. Folders end with a slash. */
const NEVER = new Set([
  ...RULE_FILES,
  '.DS_Store',
  'Thumbs.db',
  // A folder, or in a work tree of git a file that names one.
  '.git',
  '.git/',
  '.hg/',
  '.svn/',
  '.idea/',
  '.vs/',
  '.vscode/',
  'bower_components/',
  'node_modules/',
  '.venv/',
  'venv/',
  '__pycache__/',
  '.mypy_cache/',
  '.pytest_cache/',
  '.ruff_cache/',
  '.tox/',
  'build/',
  'coverage/',
  'dist/',
  'out/',
  'target/',
  '.cache/',
  '.gradle/',
  '.next/',
  '.nuxt/',
  '.terraform/',
]);

/** The rules of one folder, for paths below it. */
interface Level {
  /** Path of the folder below the root, with slashes and one at the end; empty for the root itself. */
  readonly base: string;
  readonly rules: Ignore;
}

/**
 * Rules for the ignored entries of a folder tree: a fixed list and the .gitignore and .ignore files. Rules of a deeper
 * folder take precedence, as in git.
 */
class IgnoreRules {
  private constructor(private readonly levels: readonly Level[]) {}

  static readonly none = new IgnoreRules([]);

  /** Adds the rules of a folder. `base` is its path below the root, as in Level. */
  async of(folder: string, base: string): Promise<IgnoreRules> {
    const rules = ignore({ ignorecase: false });
    let hasRules = false;
    for (const name of RULE_FILES) {
      const text = await textOf(join(folder, name));
      if (text === undefined) continue;
      rules.add(text);
      hasRules = true;
    }
    return hasRules ? new IgnoreRules([...this.levels, { base, rules }]) : this;
  }

  /** Whether the entry is always ignored; the name of a folder ends with a slash. */
  isNever(name: string): boolean {
    return NEVER.has(name);
  }

  /** Whether the rules ignore the entry. The path is below the root; that of a folder ends with a slash. */
  isIgnored(path: string): boolean {
    let ignored = false;
    for (const { base, rules } of this.levels) {
      const verdict = rules.test(path.slice(base.length));
      if (verdict.ignored) ignored = true;
      else if (verdict.unignored) ignored = false;
    }
    return ignored;
  }
}

/** Text of a file; undefined if it does not exist or cannot be read. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}
