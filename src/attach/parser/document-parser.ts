import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import PQueue from 'p-queue';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { SplitSettings } from '../../fragment/splitter/index.js';
import { BrokenDocumentError, BrokenOffError, ParsingInterruptedError } from './document.errors.js';
import type { ParsedDocument, ParseTask } from './parse-task.js';
import { ParserProcess } from './parser-process.js';

const MIB = 2 ** 20;
const HOUR_MS = 60 * 60_000;

/** An idle parser process is stopped after this time, to free its memory. */
const IDLE_MS = 30_000;

export interface DocumentFile {
  readonly content: Readable;
  /** With its suffix. */
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
  private readonly processes = new Set<ParserProcess>();
  private readonly idle: ParserProcess[] = [];
  private idleTimer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(@Inject(CONFIG) private readonly config: Config) {
    this.folder = join(config.DATA_DIR, 'parsing');
    this.slots = new PQueue({ concurrency: config.PARSE_WORKERS });
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
   * Reads the file to its end or destroys it. Fails with DocumentError when the document cannot be parsed, with the
   * signal's reason when that aborts, and with another error when it may succeed later. Time spent waiting for a
   * free process does not count.
   */
  async parse(
    file: DocumentFile,
    settings: SplitSettings,
    signal: AbortSignal,
  ): Promise<ParsedDocument> {
    const path = join(this.folder, randomBytes(16).toString('hex'));
    try {
      await this.spool(file, path, signal);
      const limits = {
        pages: this.config.PARSE_PAGES,
        unpackedBytes: this.config.PARSE_UNPACKED_MB * MIB,
      };
      const task = { path, name: file.name, settings, limits };
      return await this.slots.add(() => this.run(task, signal), { signal });
    } finally {
      await rm(path, { force: true });
    }
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

  private async run(task: ParseTask, signal: AbortSignal): Promise<ParsedDocument> {
    const process = this.acquire();
    try {
      return await process.parse(task, signal);
    } catch (error) {
      if (error instanceof BrokenDocumentError) {
        this.logger.warn({
          msg: 'Failed to read document',
          name: task.name,
          cause: error.cause,
        });
      }
      throw error;
    } finally {
      this.release(process);
    }
  }

  private acquire(): ParserProcess {
    if (this.closed) throw new ParsingInterruptedError('Plinth is stopping.');
    clearTimeout(this.idleTimer);
    for (let process = this.idle.pop(); process; process = this.idle.pop()) {
      if (process.usable) return process;
      this.processes.delete(process);
    }
    const { PARSE_MEMORY_MB: memoryMb, PARSE_TIMEOUT_SECONDS: timeoutSeconds } = this.config;
    const started = new ParserProcess({ memoryMb, timeoutSeconds });
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
    const before = Date.now() - HOUR_MS - this.config.PARSE_TIMEOUT_SECONDS * 1_000;
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < before) await rm(path, { force: true });
    }
  }
}
