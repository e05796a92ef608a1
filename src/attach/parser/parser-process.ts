import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FragmentDraft } from '../../fragment/splitter/index.js';
import {
  BrokenDocumentError,
  DocumentError,
  ForeignFormatError,
  MemoryLimitError,
  ParsingInterruptedError,
  TimeLimitError,
} from './document.errors.js';
import type { PageImage } from './format/page-image.js';
import type {
  ParseAnswer,
  ParsedDocument,
  ParseEnd,
  ParserTask,
  ParseTask,
  RenderTask,
  UnreadDocument,
} from './parse-task.js';

const PROGRAM = fileURLToPath(new URL('./parser.worker.js', import.meta.url));

const MIB = 2 ** 20;

/** What the buffers beside the heap may take, as a share of the heap's limit. */
const BUFFER_SHARE = 0.5;

/** How a process ends that was out of memory: by V8 for its heap, by its guard or the system for the rest. */
const OUT_OF_MEMORY: readonly (NodeJS.Signals | number | null)[] = [
  'SIGABRT',
  'SIGILL',
  'SIGKILL',
  'SIGTRAP',
];

export interface ParserLimits {
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
}

/** What a process has answered to one task. */
interface Collected {
  readonly end: Exclude<ParseEnd, { readonly type: 'refused' | 'foreign' | 'broken' }>;
  readonly fragments: readonly FragmentDraft[];
  readonly images: readonly PageImage[];
}

/**
 * A child process that parses one document after the other. A thread would not do: V8 ends the whole process, not the
 * thread, when one allocation goes beyond the heap limit of a worker thread (measured with Node 24: a Map, an array or
 * String.split that grows suffices). A process that was stopped or has died is of no more use.
 */
export class ParserProcess {
  private readonly child: ChildProcess;
  private ended = false;
  private stopped = false;

  constructor(private readonly limits: ParserLimits) {
    const { memoryMb } = limits;
    this.child = fork(PROGRAM, [String(memoryMb * MIB * (1 + BUFFER_SHARE))], {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${memoryMb}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child.once('exit', () => (this.ended = true));
    // Failed to start, or to receive a message; the exit that follows or the time limit ends the call.
    this.child.on('error', () => (this.ended = true));
    this.hold(false);
  }

  get usable(): boolean {
    return !this.ended && !this.stopped && this.child.connected;
  }

  /**
   * Rejects with a DocumentError for what the document is to blame for, with the signal's reason when it aborts, and
   * with ParsingInterruptedError else. Only a DocumentError from the parser itself leaves the process usable.
   */
  async parse(task: ParseTask, signal: AbortSignal): Promise<ParsedDocument | UnreadDocument> {
    const { end, fragments } = await this.run(task, signal);
    if (end.type === 'unread') return end.unread;
    if (end.type === 'parsed') return { ...end.document, fragments };
    throw new ParsingInterruptedError(`A parser process answered ${end.type}.`);
  }

  /** The images of the pages. Rejects as `parse` does. */
  async render(task: RenderTask, signal: AbortSignal): Promise<readonly PageImage[]> {
    return (await this.run(task, signal)).images;
  }

  private async run(task: ParserTask, signal: AbortSignal): Promise<Collected> {
    signal.throwIfAborted();
    const answer = Promise.withResolvers<Collected>();
    const stopWith = (error: unknown) => {
      answer.reject(error);
      this.stop();
    };
    const { timeoutSeconds } = this.limits;
    const onMessage = this.collector(answer);
    const onExit = (code: number | null, killedBy: NodeJS.Signals | null) =>
      answer.reject(this.deathOf(killedBy ?? code));
    const onAbort = () => stopWith(signal.reason);
    const timer = setTimeout(
      () => stopWith(new TimeLimitError(timeoutSeconds)),
      timeoutSeconds * 1_000,
    );
    signal.addEventListener('abort', onAbort);
    this.child.on('message', onMessage).on('exit', onExit);
    this.hold(true);
    try {
      this.child.send(task, (error) => {
        if (error) stopWith(new ParsingInterruptedError('A parser process cannot be reached.'));
      });
      return await answer.promise;
    } finally {
      this.hold(false);
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.child.off('message', onMessage).off('exit', onExit);
    }
  }

  /** Also ends what it is parsing. */
  stop(): void {
    this.stopped = true;
    this.child.kill('SIGKILL');
  }

  private collector({ resolve, reject }: PromiseWithResolvers<Collected>) {
    const fragments: FragmentDraft[] = [];
    const images: PageImage[] = [];
    return (message: unknown) => {
      const answer = message as ParseAnswer;
      if (answer.type === 'fragments') {
        for (const fragment of answer.fragments) fragments.push(fragment);
        return;
      }
      if (answer.type === 'image') {
        images.push(answer.image);
        return;
      }
      if (answer.grown) this.stop();
      if (answer.type === 'refused') reject(new DocumentError(answer.reason));
      else if (answer.type === 'foreign') reject(new ForeignFormatError(answer.reason, answer.to));
      else if (answer.type === 'broken') {
        reject(new BrokenDocumentError(answer.reason, { cause: answer.cause }));
      } else resolve({ end: answer, fragments, images });
    };
  }

  private deathOf(cause: NodeJS.Signals | number | null): Error {
    return !this.stopped && OUT_OF_MEMORY.includes(cause)
      ? new MemoryLimitError(this.limits.memoryMb)
      : new ParsingInterruptedError(`A parser process ended with ${cause}.`);
  }

  /** Whether the parent waits for this process before it ends. */
  private hold(on: boolean): void {
    const verb = on ? 'ref' : 'unref';
    this.child[verb]();
    this.child.channel?.[verb]();
  }
}
