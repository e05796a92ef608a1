import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

/** The functions of a module that a thread runs, each with one argument that can be cloned. */
type Functions = Readonly<Record<string, (task: never) => unknown>>;

/** A thread for work that would block the process: it starts with the first work, and ends when it has had none for a while. */
export class WorkerThread<Module extends Functions> {
  private readonly stopping = new AbortController();
  private pool: Piscina | undefined;

  constructor(
    private readonly module: URL,
    private readonly idleMs: number,
  ) {}

  /** Aborts when the thread is stopped for good. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  /** Runs the function of that name. When a signal aborts, the thread is ended, and this fails with the reason. */
  async run<Name extends keyof Module & string>(
    name: Name,
    task: Parameters<Module[Name]>[0],
    callerSignal: AbortSignal = this.stopped,
  ): Promise<ReturnType<Module[Name]>> {
    const signal = AbortSignal.any([callerSignal, this.stopped]);
    signal.throwIfAborted();
    this.pool ??= new Piscina({
      filename: fileURLToPath(this.module),
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.idleMs,
    });
    try {
      return (await this.pool.run(task, { name, signal })) as ReturnType<Module[Name]>;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.pool?.destroy();
  }
}
