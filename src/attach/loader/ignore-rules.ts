import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ignore from 'ignore';
import type { Ignore } from 'ignore';

/** Files of rules in the format of gitignore, the later ones stronger. */
const RULE_FILES = ['.gitignore', '.ignore'];

/** Never imported, wherever it lies. Folders end with a slash. */
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
 * Which entries of a folder tree are left out: a fixed list, and what .gitignore and .ignore files say. Those of a deeper
 * folder are stronger, as in git.
 */
export class IgnoreRules {
  private constructor(private readonly levels: readonly Level[]) {}

  static readonly none = new IgnoreRules([]);

  /** With the rules that the folder itself holds. `base` is its path below the root, as in Level. */
  async of(folder: string, base: string): Promise<IgnoreRules> {
    const rules = ignore({ ignorecase: false });
    let found = false;
    for (const name of RULE_FILES) {
      const text = await textOf(join(folder, name));
      if (text === undefined) continue;
      rules.add(text);
      found = true;
    }
    return found ? new IgnoreRules([...this.levels, { base, rules }]) : this;
  }

  /** True for what is left out always; the name of a folder ends with a slash. */
  isNever(name: string): boolean {
    return NEVER.has(name);
  }

  /** Whether the rules leave the entry out. The path is the one below the root; that of a folder ends with a slash. */
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

/** Undefined when there is no such file that can be read. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}
