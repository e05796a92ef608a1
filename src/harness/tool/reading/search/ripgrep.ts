import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SearchPatternError, SearchStoppedError } from './search.query.js';

/** What is read from ripgrep at most. */
const OUTPUT_BYTES = 64 * 1024 * 1024;
const COMPLAINT_CHARACTERS = 2_000;
/** How ripgrep ends that could not do what it was told. */
const FAILED = 2;

/** There is no ripgrep on this machine, or it cannot be run. */
export class NoRipgrepError extends Error {
  override readonly name = 'NoRipgrepError';
}

/** The program that the package brings for this machine; undefined when it brings none. */
export async function ripgrepProgram(): Promise<string | undefined> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    return undefined;
  }
}

/**
 * What ripgrep writes, as it comes. This is the one place that starts it: with an empty environment, nothing to read, no
 * shell, in the given folder. It is killed when the reader stops, the signal aborts or it writes too much.
 */
export async function* ripgrepOutput(
  program: string,
  args: readonly string[],
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const child = spawn(program, args, { cwd, env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  ended.catch(() => undefined);
  const kill = (): boolean => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, COMPLAINT_CHARACTERS);
  });
  try {
    let total = 0;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > OUTPUT_BYTES) throw new SearchStoppedError();
      yield chunk;
    }
    const [code] = await ended.catch((error: unknown) => {
      throw new NoRipgrepError('ripgrep cannot be started.', { cause: error });
    });
    signal.throwIfAborted();
    // Without a word, it only could not read some of the files.
    if (code === FAILED && complaint !== '') throw new SearchPatternError(complaint.trim());
    if (code === null) throw new SearchStoppedError();
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}
