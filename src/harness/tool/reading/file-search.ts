import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import type { OpenFile } from '../../../platform/filesystem/index.js';
import { ToolError } from '../../protocol/tool-call.js';
import { SECRET_PATTERNS } from '../../workspace/protected-path.js';
import type { Workspace } from '../../workspace/workspace.js';
import { Glob, globFilter, SearchPatternError, SearchStoppedError } from './glob.js';

/** Scope of a search. */
export interface SearchScope {
  /** Absolute path of the workspace. */
  readonly root: string;
  /** The file or folder below it, '' for the whole workspace; no link is on the way to it. */
  readonly path: string;
  /** Relative to the path; after a `!` the files that it matches are left out. */
  readonly glob?: string | undefined;
}

export interface TextQuery extends SearchScope {
  /** A regular expression, unless it is literal. */
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** Lines before and after each match. */
  readonly context: number;
}

/** A line as ripgrep saw it: read it again through the workspace before it is shown. */
export interface FoundLine {
  readonly path: string;
  /** Line number, counted from 1. */
  readonly line: number;
  /** Byte offset of the line in the file. */
  readonly offset: number;
  readonly bytes: Buffer;
  readonly isMatch: boolean;
  /** Byte offset of the first match in the line. */
  readonly column: number;
}

/** Larger files are not searched. */
const MAX_FILE_MIB = 20;
/** Output that is read from ripgrep at most. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_STDERR_CHARS = 2_000;
/** ripgrep's exit code for an invalid pattern, and for files that it could not read. */
const EXIT_ERROR = 2;
const NEWLINE = 0x0a;

/**
 * Searches the files of a workspace with ripgrep. Links are not followed. Results are hints: check them before they are
 * shown. Fails with SearchPatternError, with SearchStoppedError when there is too much output, with ToolError where
 * ripgrep cannot be started, and with the signal's reason.
 */
@Injectable()
export class FileSearch {
  private readonly logger = new Logger(FileSearch.name);

  /** Matching lines and those around them, file by file. */
  async *lines(query: TextQuery, signal: AbortSignal): AsyncGenerator<FoundLine> {
    const isWanted = globFilter(query.path, query.glob);
    for await (const json of split(this.output(textArguments(query), query, signal), NEWLINE)) {
      const line = foundLine(json);
      if (line && isWanted(line.path)) yield line;
    }
  }

  /** Paths of files, the last changed first. */
  async *files(query: SearchScope, signal: AbortSignal): AsyncGenerator<string> {
    const isWanted = globFilter(query.path, query.glob);
    for await (const bytes of split(this.output(filesArguments(query), query, signal), 0)) {
      const path = bytes.toString().replace(/^\.\//, '');
      if (isWanted(path)) yield path;
    }
  }

  /** The binary that the package brings for this machine. */
  protected async program(): Promise<string> {
    return (await import('@vscode/ripgrep')).rgPath;
  }

  /**
   * Output of ripgrep. It runs with an empty environment, without input and without a shell. It is killed when the
   * reader stops, the signal aborts or it writes too much.
   */
  private async *output(
    args: readonly string[],
    { root }: SearchScope,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    signal.throwIfAborted();
    const program = await this.program().catch((error: unknown) => this.unavailable(error));
    const child = spawn(program, args, { cwd: root, env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    const closed = once(child, 'close') as Promise<[number | null]>;
    closed.catch(() => undefined);
    const kill = (): boolean => child.kill('SIGKILL');
    signal.addEventListener('abort', kill);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(0, MAX_STDERR_CHARS);
    });
    try {
      let total = 0;
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        total += chunk.length;
        if (total > MAX_OUTPUT_BYTES) throw new SearchStoppedError();
        yield chunk;
      }
      const [code] = await closed.catch((error: unknown) => this.unavailable(error));
      signal.throwIfAborted();
      // An error exit without a message only means that some files were unreadable.
      if (code === EXIT_ERROR && stderr !== '') throw new SearchPatternError(stderr.trim());
      if (code === null) throw new SearchStoppedError();
    } finally {
      signal.removeEventListener('abort', kill);
      kill();
    }
  }

  private unavailable(err: unknown): never {
    this.logger.error({ msg: 'ripgrep is not available', err });
    throw new ToolError(
      'FAILED',
      'ripgrep is not available. Files cannot be searched on this server: use list_files and read_file, and tell the user.',
    );
  }
}

/**
 * The path to search in, with links resolved: the file or folder that was named, or the whole workspace. Secret files and
 * those of git are never searched, also not when they are named or linked to.
 */
export async function searchPlace(workspace: Workspace, requestedPath = ''): Promise<string> {
  const path = await workspace.realPathOf(workspace.pathOf(requestedPath));
  const { protection, secret } = workspace.classify(path);
  if (secret) {
    throw new ToolError(
      'SECRET_PATH',
      `${path} may hold secrets, and searches leave such files out. If you need it, ask for it with read_file.`,
    );
  }
  if (protection === 'GIT') {
    throw new ToolError('PROTECTED_PATH', `${path} belongs to git and is never searched.`);
  }
  if (path !== '') await requireFileOrFolder(workspace, path);
  return path;
}

/**
 * Works with a file that a search has found; undefined when it must not be shown: it is secret, belongs to git, is gone,
 * or is only reached over a link.
 */
export async function withShownFile<T>(
  workspace: Workspace,
  path: string,
  work: (file: OpenFile) => Promise<T>,
): Promise<T | undefined> {
  const { protection, secret } = workspace.classify(path);
  if (secret || protection === 'GIT') return undefined;
  try {
    return await workspace.withFile(path, async (file, realPath) =>
      realPath === path ? work(file) : undefined,
    );
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

/** The error for a pattern that ripgrep or picomatch refuses. */
export function invalidPattern(what: string, { message }: SearchPatternError): ToolError {
  return new ToolError(
    'INVALID_ARGUMENTS',
    `The ${what} cannot be read: ${message.slice(0, 1_000)}. Correct it${what === 'pattern' ? '' : ', or use literal=true to search for the text itself'}.`,
  );
}

async function requireFileOrFolder(workspace: Workspace, path: string): Promise<void> {
  try {
    await workspace.withFile(path, async () => undefined);
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'NOT_A_FILE') throw error;
    await workspace.entries(path, 0);
  }
}

/** Every line as JSON, with its place in the file. */
function textArguments(query: TextQuery): string[] {
  const { pattern, literal, ignoreCase, context } = query;
  return [
    '--json',
    '--sort=path',
    '--no-mmap',
    // The bytes as they are, so that their places in the file are right.
    '--encoding=none',
    `--max-filesize=${MAX_FILE_MIB}M`,
    `--context=${context}`,
    ...(literal ? ['--fixed-strings'] : []),
    ...(ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...scopeArguments(query),
    '-e',
    pattern,
    '--',
    `./${query.path}`,
  ];
}

/** Paths with a NUL behind each, the last changed first. */
function filesArguments(query: SearchScope): string[] {
  return [
    '--files',
    '--sortr=modified',
    '--null',
    ...scopeArguments(query),
    '--',
    `./${query.path}`,
  ];
}

/** Only .gitignore and its like below the workspace decide what is searched. */
function scopeArguments({ path, glob }: SearchScope): string[] {
  return [
    '--no-config',
    '--no-follow',
    '--hidden',
    '--no-messages',
    '--no-ignore-messages',
    '--no-ignore-global',
    '--no-ignore-exclude',
    // The folders above the workspace have no say.
    '--no-ignore-parent',
    '--no-require-git',
    ...(path === '' ? [] : ['--ignore-file=.gitignore']),
    ...(glob === undefined ? [] : globArguments(glob, path)),
    // The last one that matches counts.
    ...[...SKIPPED_FOLDERS].map((folder) => `--glob=!${folder}`),
    ...SECRET_PATTERNS.map((pattern) => `--iglob=!${pattern}`),
    '--iglob=!.git',
  ];
}

/**
 * Spares ripgrep files that the glob excludes; globFilter decides exactly. A glob passed as `--glob` would bring back what
 * .gitignore leaves out, so wanted names are passed as a file type, and only unwanted ones as a glob.
 */
function globArguments(glob: string, path: string): string[] {
  if (!glob.startsWith('!')) {
    const { namePattern } = new Glob(glob);
    return namePattern === undefined ? [] : [`--type-add=wanted:${namePattern}`, '--type=wanted'];
  }
  const { namePattern } = new Glob(glob.slice(1));
  // A pattern without a slash means the same to ripgrep.
  if (namePattern === undefined || glob.includes('/')) return [];
  return [`--glob=!${path === '' ? '' : `/${escaped(path)}/**/`}${namePattern}`];
}

function escaped(path: string): string {
  return path.replace(/[[\]{}*?!\\]/g, '\\$&');
}

/** Text, or base64 where it is not UTF-8. */
const content = z.union([
  z.object({ text: z.string() }).transform(({ text }) => Buffer.from(text)),
  z.object({ bytes: z.base64() }).transform(({ bytes }) => Buffer.from(bytes, 'base64')),
]);

const message = z.discriminatedUnion('type', [
  z.object({
    type: z.enum(['match', 'context']),
    data: z.object({
      // A name that is not UTF-8 cannot be asked for.
      path: z.object({ text: z.string().optional() }),
      lines: content,
      line_number: z.int(),
      absolute_offset: z.int(),
      submatches: z.array(z.object({ start: z.int() })),
    }),
  }),
  z.object({ type: z.enum(['begin', 'end', 'summary']) }),
]);

function foundLine(json: Buffer): FoundLine | undefined {
  const { data: read } = message.safeParse(JSON.parse(json.toString()));
  if (!read || !('data' in read)) return undefined;
  const { path, lines, line_number: line, absolute_offset: offset, submatches } = read.data;
  if (path.text === undefined) return undefined;
  return {
    path: path.text.replace(/^\.\//, ''),
    line,
    offset,
    bytes: lines,
    isMatch: read.type === 'match',
    column: submatches[0]?.start ?? 0,
  };
}

/** The pieces between the separators; what follows the last one is incomplete, and left out. */
async function* split(output: AsyncIterable<Buffer>, separator: number): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  for await (const chunk of output) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(separator, start);
      if (end < 0) break;
      yield Buffer.concat([...pending, chunk.subarray(start, end)]);
      pending = [];
      start = end + 1;
    }
    pending.push(chunk.subarray(start));
  }
}
