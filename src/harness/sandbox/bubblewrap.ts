import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BEGUN, DESCRIPTORS } from './sandbox.arguments.js';

/** Debian's package. Looked for nowhere else: neither PATH nor a workspace can name another program. */
export const BUBBLEWRAP = '/usr/bin/bwrap';

const TERM_MS = 2_000;
const GONE_MS = 2_000;
const GONE_POLL_MS = 5;
const DRAIN_MS = 2_000;
/** What bwrap may say of itself. */
const COMPLAINT_CHARACTERS = 4_000;

export interface BubblewrapInput {
  /** bwrap's options, as `--args` reads them. */
  readonly options: Buffer;
  readonly filter: Buffer;
  /** For the descriptors from DESCRIPTORS.files on. */
  readonly files: readonly string[];
  readonly command: readonly string[];
}

/**
 * A sandbox that runs. The one place that starts bwrap: with no environment, because what its first process is given can
 * be read inside at /proc/1/environ, and with its options in a pipe, where no list of processes shows them.
 */
export class Bubblewrap {
  /** What the command writes. */
  readonly output: Readable;
  /** Resolves when bwrap itself has ended or could not be started. */
  readonly ended: Promise<void>;
  /** The number of the sandbox's first process, which waits for `go`; undefined when bwrap has ended before it. */
  readonly began: Promise<number | undefined>;
  private readonly child: ChildProcess;
  private complaint = '';
  private status = '';

  constructor({ options, filter, files, command }: BubblewrapInput) {
    const inputs = [options, filter, ...files];
    this.child = spawn(BUBBLEWRAP, ['--args', String(DESCRIPTORS.arguments), '--', ...command], {
      env: {},
      cwd: '/',
      detached: false,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...inputs.map(() => 'pipe' as const)],
    });
    this.ended = new Promise((resolve) => {
      this.child.once('exit', () => resolve());
      this.child.once('error', (error) => {
        this.complain(error.message);
        resolve();
      });
    });
    this.output = this.readable(1);
    this.listen(2, (text) => this.complain(text));
    const began = Promise.withResolvers<number | undefined>();
    this.listen(DESCRIPTORS.status, (text) => {
      this.status += text;
      if (this.firstProcess !== undefined) began.resolve(this.firstProcess);
    });
    void this.ended.then(() => began.resolve(undefined));
    this.began = began.promise;
    inputs.forEach((content, index) => this.give(DESCRIPTORS.arguments + index, content));
  }

  /**
   * Why the command has not begun, in the words of bwrap or of the shell that sets the limits. Means nothing once it has:
   * a command can write here, too.
   */
  get trouble(): string {
    return this.complaint.trim();
  }

  /** Whether the command was started; a command that was cannot take this back. After `settled`. */
  get hasBegun(): boolean {
    return this.complaint.includes(BEGUN);
  }

  /** As bwrap tells it; undefined when nothing was started, or when bwrap was ended before it. */
  get exitCode(): number | undefined {
    return this.told('exit-code');
  }

  /** Lets the first process go on, and start the command. */
  go(): void {
    this.give(DESCRIPTORS.go, 'x');
  }

  /** Ends bwrap, and with it whatever runs in the sandbox: two seconds after SIGTERM by force. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    const inTime = await Promise.race([this.ended.then(() => true), sleep(TERM_MS, false)]);
    if (!inTime) this.child.kill('SIGKILL');
    await this.ended;
  }

  /**
   * After `ended`: waits until no process of the sandbox is left and its pipes are read to their ends, for each at most
   * two seconds, and closes them. The first process of a sandbox goes last.
   */
  async settled(): Promise<void> {
    const until = performance.now() + GONE_MS;
    while (performance.now() < until && (await isAlive(this.firstProcess))) {
      await sleep(GONE_POLL_MS);
    }
    const pipes = [1, 2, DESCRIPTORS.status].map((descriptor) => this.readable(descriptor));
    const signal = AbortSignal.timeout(DRAIN_MS);
    await Promise.allSettled(pipes.map((pipe) => finished(pipe, { signal, writable: false })));
    for (const pipe of pipes) pipe.destroy();
  }

  private get firstProcess(): number | undefined {
    return this.told('child-pid');
  }

  private told(name: string): number | undefined {
    const [, digits] = new RegExp(`"${name}": (\\d+)`).exec(this.status) ?? [];
    return digits === undefined ? undefined : Number(digits);
  }

  private complain(text: string): void {
    this.complaint = (this.complaint + text).slice(0, COMPLAINT_CHARACTERS);
  }

  private listen(descriptor: number, take: (text: string) => void): void {
    const pipe = this.readable(descriptor);
    pipe.setEncoding('utf8').on('error', () => undefined);
    pipe.on('data', take);
  }

  private readable(descriptor: number): Readable {
    const pipe = this.child.stdio[descriptor];
    if (pipe instanceof Readable) return pipe;
    throw new Error(`Descriptor ${descriptor} of the sandbox is no pipe.`);
  }

  private give(descriptor: number, content: string | Buffer): void {
    const pipe = this.child.stdio[descriptor];
    if (!(pipe instanceof Writable)) {
      throw new Error(`Descriptor ${descriptor} of the sandbox is no pipe.`);
    }
    // bwrap that ends early does not read it; its own words say why.
    pipe.on('error', () => undefined);
    pipe.end(content);
  }
}

/** A process that merely waits to be noticed by its parent is not alive. */
async function isAlive(process: number | undefined): Promise<boolean> {
  if (process === undefined) return false;
  const line = await readFile(`/proc/${process}/stat`, 'latin1').catch(() => '');
  const state = line.charAt(line.lastIndexOf(')') + 2);
  return state !== '' && !'ZX'.includes(state);
}
