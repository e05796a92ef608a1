import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { SearchPatternError } from './search.query.js';
import type { FilesQuery, FoundLine, SearchEngine, TextQuery } from './search.query.js';

/** What the thread is told to do. */
export type ThreadTask =
  | { readonly kind: 'lines'; readonly query: TextQuery }
  | { readonly kind: 'files'; readonly query: FilesQuery };

/** What it answers: pieces, and how it has ended. */
export type ThreadAnswer =
  | {
      readonly type: 'lines';
      readonly lines: readonly (Omit<FoundLine, 'bytes'> & { bytes: Uint8Array })[];
    }
  | { readonly type: 'files'; readonly files: readonly string[] }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'done' };

const PROGRAM = new URL('./search.worker.js', import.meta.url);

/** Heap of the thread in MiB. */
const MEMORY = 256;

/**
 * Looks without ripgrep, with the regular expressions of JavaScript. It works in a thread of its own, because such an
 * expression can take for ever: the thread is ended with the signal, or when nobody reads on.
 */
export class ThreadEngine implements SearchEngine {
  async *lines(query: TextQuery, signal: AbortSignal): AsyncGenerator<FoundLine> {
    for await (const answer of answers({ kind: 'lines', query }, signal)) {
      if (answer.type !== 'lines') continue;
      for (const line of answer.lines) yield { ...line, bytes: Buffer.from(line.bytes) };
    }
  }

  async *files(query: FilesQuery, signal: AbortSignal): AsyncGenerator<string> {
    for await (const answer of answers({ kind: 'files', query }, signal)) {
      if (answer.type === 'files') yield* answer.files;
    }
  }
}

async function* answers(task: ThreadTask, signal: AbortSignal): AsyncGenerator<ThreadAnswer> {
  signal.throwIfAborted();
  const thread = new Worker(PROGRAM, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY },
  });
  try {
    for await (const [answer] of on(thread, 'message', { signal, close: ['exit'] })) {
      const { type } = answer as ThreadAnswer;
      if (type === 'done') return;
      if (type === 'refused') throw new SearchPatternError((answer as { reason: string }).reason);
      yield answer as ThreadAnswer;
    }
  } finally {
    await thread.terminate();
  }
}
