import { SKIPPED_FOLDERS } from '../../../../platform/filesystem/index.js';
import { SECRET_PATTERNS } from '../../../workspace/protected-path.js';
import { Glob } from './glob.js';
import { SEARCHED_FILE_MIB } from './search.query.js';
import type { FilesQuery, SearchScope, TextQuery } from './search.query.js';

/** Every line as JSON, with its place in the file. */
export function textArguments(query: TextQuery): string[] {
  const { pattern, literal, ignoreCase, context } = query;
  return [
    '--json',
    '--sort=path',
    '--no-mmap',
    // The bytes as they are, so that their places in the file are right.
    '--encoding=none',
    `--max-filesize=${SEARCHED_FILE_MIB}M`,
    `--context=${context}`,
    ...(literal ? ['--fixed-strings'] : []),
    ...(ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...scopeArguments(query),
    '-e',
    pattern,
    '--',
    placeOf(query),
  ];
}

/** Paths with a NUL behind each, the last changed first. */
export function filesArguments(query: FilesQuery): string[] {
  return ['--files', '--sortr=modified', '--null', ...scopeArguments(query), '--', placeOf(query)];
}

function placeOf({ path }: SearchScope): string {
  return path === '' ? './' : `./${path}`;
}

/** No file of settings but .gitignore and its like below the workspace decides what is looked at; links are not followed. */
function scopeArguments({ path, glob }: SearchScope): string[] {
  return [
    '--no-config',
    '--no-follow',
    '--hidden',
    '--no-messages',
    '--no-ignore-messages',
    '--no-ignore-global',
    '--no-ignore-exclude',
    // Also of the folders above the workspace, which are none of its business.
    '--no-ignore-parent',
    '--no-require-git',
    ...(path === '' ? [] : ['--ignore-file=.gitignore']),
    ...(glob === undefined ? [] : globArguments(glob, path)),
    // The last one that fits counts.
    ...[...SKIPPED_FOLDERS].map((folder) => `--glob=!${folder}`),
    ...SECRET_PATTERNS.map((pattern) => `--iglob=!${pattern}`),
    '--iglob=!.git',
  ];
}

/**
 * Spares ripgrep what nobody wants; exactly what is wanted is sorted out behind it. As its own `--glob`, a pattern would
 * bring back what .gitignore leaves out, so names are told as a type of file, and only what is not wanted as a glob.
 */
function globArguments(glob: string, path: string): string[] {
  if (glob.startsWith('!')) {
    const base = path === '' ? '' : `/${escaped(path)}`;
    return new Glob(glob.slice(1)).alternatives.map((one) => `--glob=!${base}/${one}`);
  }
  const { names } = new Glob(glob);
  // What ripgrep might read otherwise.
  if (!names || names.some((name) => /[[\]\\:]/.test(name))) return [];
  return [...names.map((name) => `--type-add=wanted:${name}`), '--type=wanted'];
}

function escaped(path: string): string {
  return path.replace(/[[\]{}*?!\\]/g, '\\$&');
}
