import PQueue from 'p-queue';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { msg } from '../../platform/message/index.js';
import type { SplitSettings, FragmentDraft } from '../../fragment/splitter/index.js';
import {
  BrokenDocumentError,
  BrokenOffError,
  DocumentError,
  ForeignFormatError,
  ParsingInterruptedError,
  MemoryLimitError,
  TimeLimitError,
} from './document.errors.js';
import type { RecognisedPage, RecognisedPages } from './format/document-source.js';
import type { PageImage } from './format/page-image.js';
import type {
  ParsedDocument,
  ParserTask,
  ParseTask,
  UnreadDocument,
  ParseAnswer,
  ParseEnd,
  RenderTask,
} from './parse-task.js';
import { OfficeProgram } from './office-program.js';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MIB = 2 ** 20;
const HOUR_MS = 60 * 60_000;

/** An idle parser process is stopped after this time, to free its memory. */
const IDLE_MS = 30_000;

/** Limits of one document. Pages are those of a PDF, slides or chapters; `images` those read by text recognition. */
export const PARSE_LIMITS = {
  seconds: 120,
  pages: 5_000,
  images: 500,
  unpackedBytes: 200 * MIB,
};

/** Pages whose images are in memory at a time. */
const RENDERED_AT_ONCE = 8;

/** Reads the images of pages that hold no text. */
export interface PageRecognition {
  /** Length of the longer side of each image, in pixels. */
  readonly longestSide: number;
  /** Announces the pages; answers those that are known from an earlier attempt. */
  readonly begin: (pages: readonly number[]) => Promise<RecognisedPages>;
  readonly read: (
    images: readonly PageImage[],
  ) => Promise<readonly (readonly [page: number, text: RecognisedPage])[]>;
}

interface Recognising {
  readonly unread: UnreadDocument;
  readonly recognition: PageRecognition;
  readonly signal: AbortSignal;
}

export interface DocumentFile {
  readonly content: Readable;
  /** File name with its suffix. */
  readonly name: string;
  readonly byteSize: number;
}

/**
 * Turns files into fragments, at most PARSE_WORKERS at a time, each in a process of its own whose memory and time are
 * limited: no file can stop or slow down this one.
 */
@Injectable()
export class DocumentParser implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(DocumentParser.name);
  private readonly folder: string;
  private readonly slots: PQueue;
  private readonly office: OfficeProgram;
  /** Conversions run one at a time: LibreOffice takes as much memory as a parser process. */
  private readonly conversions = new PQueue({ concurrency: 1 });
  private readonly processes = new Set<ParserProcess>();
  private readonly idle: ParserProcess[] = [];
  private idleTimer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(@Inject(CONFIG) private readonly config: Config) {
    this.folder = join(config.DATA_DIR, 'parsing');
    this.slots = new PQueue({ concurrency: config.PARSE_WORKERS });
    this.office = new OfficeProgram({
      program: config.PARSE_OFFICE,
      timeoutSeconds: PARSE_LIMITS.seconds,
      maxBytes: PARSE_LIMITS.unpackedBytes,
    });
  }

  async onModuleInit(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await this.removeLeftovers();
  }

  onApplicationShutdown(): void {
    this.closed = true;
    clearTimeout(this.idleTimer);
    for (const process of this.processes) process.stop();
  }

  /**
   * Reads the file to its end or destroys it. With `recognition` the pages without text are read from their images; their
   * number is limited. Fails with DocumentError when the document cannot be parsed, with the
   * signal's reason when that aborts, and with another error when it may succeed later. Time spent waiting for a
   * free process does not count.
   */
  async parse(
    file: DocumentFile,
    settings: SplitSettings,
    signal: AbortSignal,
    recognition?: PageRecognition,
  ): Promise<ParsedDocument> {
    const path = join(this.folder, randomBytes(16).toString('hex'));
    try {
      await this.spool(file, path, signal);
      const { pages, unpackedBytes } = PARSE_LIMITS;
      const limits = { pages, unpackedBytes };
      const task = { type: 'parse', path, name: file.name, settings, limits } as const;
      return await this.parseOrConvert(task, signal, recognition);
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Formats that no reader here supports are converted by LibreOffice, where it is installed. */
  private async parseOrConvert(
    task: ParseTask,
    signal: AbortSignal,
    recognition: PageRecognition | undefined,
  ): Promise<ParsedDocument> {
    try {
      return await this.parseTask(task, signal, recognition);
    } catch (error) {
      if (!(error instanceof ForeignFormatError)) throw error;
      const { folder } = this;
      const { path } = task;
      const suffix = /\.\w{1,10}$/.exec(task.name)?.[0] ?? '';
      const convert = (): Promise<string | undefined> => {
        this.requireOpen();
        return this.office.convert({ path, folder, suffix, to: error.to, signal });
      };
      const converted = await this.conversions.add(convert, { signal });
      if (converted === undefined) throw error;
      try {
        const name = `${task.name}.${error.to}`;
        return await this.parseTask({ ...task, path: converted, name }, signal, recognition);
      } finally {
        await rm(dirname(dirname(converted)), { recursive: true, force: true });
      }
    }
  }

  private requireOpen(): void {
    if (this.closed) throw new ParsingInterruptedError('Plinth is stopping.');
  }

  private async parseTask(
    task: ParseTask,
    signal: AbortSignal,
    recognition: PageRecognition | undefined,
  ): Promise<ParsedDocument> {
    if (!recognition) return this.whole(task, signal);
    const read = await this.inProcess(task, signal, (process) =>
      process.parse({ ...task, recognised: new Map() }, signal),
    );
    if (!('pages' in read && 'total' in read)) return read;
    const recognised = await this.recognise(task, { unread: read, recognition, signal });
    return this.whole({ ...task, recognised }, signal);
  }

  private async spool(
    { content, byteSize }: DocumentFile,
    path: string,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      signal.throwIfAborted();
      const handle = await open(path, 'wx', 0o600);
      const target = handle.createWriteStream();
      await pipeline(content, target, { signal });
      if (target.bytesWritten !== byteSize) throw new BrokenOffError(target.bytesWritten, byteSize);
    } catch (error) {
      content.destroy();
      signal.throwIfAborted();
      throw error;
    }
  }

  private async whole(task: ParseTask, signal: AbortSignal): Promise<ParsedDocument> {
    const read = await this.inProcess(task, signal, (process) => process.parse(task, signal));
    if ('total' in read)
      throw new BrokenDocumentError(msg`Its pages could not be read twice alike.`);
    return read;
  }

  /** Reads the images of the pages, some of which are in memory at a time. */
  private async recognise(
    { path, name }: ParseTask,
    { unread, recognition, signal }: Recognising,
  ): Promise<RecognisedPages> {
    const { pages, total } = unread;
    if (pages.length > PARSE_LIMITS.images) {
      throw new DocumentError(
        msg`${pages.length} of ${total} pages of the document are images, the limit of text recognition is ${PARSE_LIMITS.images}. Split it into several files.`,
      );
    }
    const recognised = new Map(await recognition.begin(pages));
    const missing = pages.filter((page) => !recognised.has(page));
    for (let start = 0; start < missing.length; start += RENDERED_AT_ONCE) {
      const { longestSide } = recognition;
      const some = missing.slice(start, start + RENDERED_AT_ONCE);
      const task = { type: 'render', path, name, pages: some, longestSide } as const;
      const images = await this.inProcess(task, signal, (process) => process.render(task, signal));
      for (const [page, text] of await recognition.read(images)) recognised.set(page, text);
    }
    return recognised;
  }

  private async inProcess<T>(
    task: ParserTask,
    signal: AbortSignal,
    work: (process: ParserProcess) => Promise<T>,
  ): Promise<T> {
    return this.slots.add(() => this.run(task, work), { signal });
  }

  private async run<T>(task: ParserTask, work: (process: ParserProcess) => Promise<T>): Promise<T> {
    const process = this.acquire();
    try {
      return await work(process);
    } catch (error) {
      if (error instanceof BrokenDocumentError) {
        this.logger.warn({
          msg: 'Failed to read document',
          type: extname(task.name),
          cause: error.cause,
        });
      }
      throw error;
    } finally {
      this.release(process);
    }
  }

  private acquire(): ParserProcess {
    this.requireOpen();
    clearTimeout(this.idleTimer);
    for (let process = this.idle.pop(); process; process = this.idle.pop()) {
      if (process.usable) return process;
      this.processes.delete(process);
    }
    const started = new ParserProcess({
      memoryMb: this.config.PARSE_MEMORY_MB,
      timeoutSeconds: PARSE_LIMITS.seconds,
    });
    this.processes.add(started);
    return started;
  }

  private release(process: ParserProcess): void {
    if (process.usable) this.idle.push(process);
    else this.processes.delete(process);
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => this.stopIdle(), IDLE_MS).unref();
  }

  private stopIdle(): void {
    for (const process of this.idle.splice(0)) {
      process.stop();
      this.processes.delete(process);
    }
  }

  /** Removes files that a killed process left. Another process that shares the folder may still use younger ones. */
  private async removeLeftovers(): Promise<void> {
    const before = Date.now() - HOUR_MS - PARSE_LIMITS.seconds * 1_000;
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < before) await rm(path, { recursive: true, force: true });
    }
  }
}

const PROGRAM = fileURLToPath(new URL('./parser.worker.js', import.meta.url));

/** Memory that buffers outside the heap may take, as a share of the heap limit. */
const BUFFER_SHARE = 0.5;

/**
 * Exit codes and signals of a process that ran out of memory: V8 for its heap, the guard or the system for the rest.
 */
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

/** The complete answer of a process to one task. */
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

  /** Stops the process, including the task it is parsing. */
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

  /** Sets whether the parent process stays alive until this process has ended. */
  private hold(on: boolean): void {
    const verb = on ? 'ref' : 'unref';
    this.child[verb]();
    this.child.channel?.[verb]();
  }
}
