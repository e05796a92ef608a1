import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';

/**
 * What another process may still do for a run. `gone`: it has ended. `idle`: it lives and is not at the run. `busy`: it
 * is at the run, or too stuck to say. `unknown`: it is on another host.
 */
export type Presence = 'gone' | 'idle' | 'busy' | 'unknown';

const ANSWER_LIMIT_MS = 1_000;
const LONGEST_QUESTION = 200;

/**
 * Lets processes on one host know of each other whether they live, and what they are at. Each listens on an abstract
 * Unix socket (unix(7)), which the kernel takes back with the process, whatever ends it; so a new owner of a run never
 * acts while the old one still could. Where there are no such sockets, every other process is `unknown`, and so is one
 * that could not open its own.
 */
@Injectable()
export class ProcessPresence implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private readonly host = hostIdentity();
  private name = `${this.host}:${randomUUID()}`;
  private readonly runs = new Set<string>();
  private server: Server | undefined;
  private isClosing = false;

  /** Names this process: its host, then itself. The same from the start of the application on. */
  get boot(): string {
    return this.name;
  }

  async onModuleInit(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.setEncoding('utf8');
      socket.setTimeout(ANSWER_LIMIT_MS, () => socket.destroy());
      socket.on('error', () => undefined);
      let question = '';
      socket.on('data', (text: string) => {
        question += text;
        if (question.length > LONGEST_QUESTION) socket.destroy();
        else if (question.endsWith('\n')) {
          socket.end(this.runs.has(question.trim()) ? 'busy' : 'idle');
        }
      });
    });
    server.unref();
    this.server = await new Promise<Server | undefined>((resolve) => {
      server.once('error', (error) => {
        this.logger.warn({ msg: 'Other processes of this host cannot see this one', err: error });
        // Named as one of this host, it would be taken for gone.
        this.name = `${randomUUID()}:${randomUUID()}`;
        resolve(undefined);
      });
      server.listen(socketOf(this.boot), () => resolve(server));
    });
  }

  /** Listens on while this process is still at a run: until it is not, it must not be taken for gone. */
  onApplicationShutdown(): void {
    this.isClosing = true;
    this.closeWhenIdle();
  }

  /** From now on this process is at the run, until the answered function is called. */
  enter(runId: string): () => void {
    this.runs.add(runId);
    return () => {
      this.runs.delete(runId);
      if (this.isClosing) this.closeWhenIdle();
    };
  }

  has(runId: string): boolean {
    return this.runs.has(runId);
  }

  async of(boot: string, runId: string): Promise<Presence> {
    if (boot === this.boot) return this.runs.has(runId) ? 'busy' : 'idle';
    if (!boot.startsWith(`${this.host}:`) || !this.server) return 'unknown';
    return ask(boot, runId);
  }

  /** True only if the process has certainly ended. */
  async isGone(boot: string): Promise<boolean> {
    return (await this.of(boot, '')) === 'gone';
  }

  private closeWhenIdle(): void {
    if (this.runs.size === 0) this.server?.close();
  }
}

function ask(boot: string, runId: string): Promise<Presence> {
  return new Promise((resolve) => {
    const socket = connect(socketOf(boot));
    let answer = '';
    socket.setEncoding('utf8');
    socket.setTimeout(ANSWER_LIMIT_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(`${runId}\n`));
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      resolve(code === 'ECONNREFUSED' || code === 'ENOENT' ? 'gone' : 'busy');
    });
    // A process that is stopped by a debugger or the system accepts, but does not answer.
    socket.on('close', () => resolve(answer === 'idle' ? 'idle' : 'busy'));
  });
}

/** A path that begins with NUL is an abstract socket: no file, and gone with the process. */
function socketOf(boot: string): string {
  return `\0plinth-harness-${boot}`;
}

/** Equal for two processes exactly if they can reach each other's abstract sockets: same kernel, same network namespace. */
function hostIdentity(): string {
  try {
    const kernel = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const network = readlinkSync('/proc/self/ns/net');
    return createHash('sha256').update(`${kernel} ${network}`).digest('hex').slice(0, 16);
  } catch {
    return randomUUID();
  }
}
