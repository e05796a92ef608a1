import type { ScriptStep } from './behaviour/script.js';
import type { Answered, RecordedRequest } from './http/recorder.js';
import { HttpSimulator } from './simulator.js';

export type { Behaviour } from './behaviour/behaviour.js';
export type { ScriptStep } from './behaviour/script.js';
export type { RecordedRequest } from './http/recorder.js';

/** A running stand-in for the model services. */
export interface Simulator {
  /** Address without a path and without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** The newest requests in order of arrival; a request is listed as soon as its head is read. */
  readonly requests: readonly RecordedRequest[];
  /** Number of requests since the last reset, including those that are no longer listed. */
  readonly total: number;
  /** Requests among them that were answered in full and reported their tokens. */
  readonly answered: Answered;
  /** Queues behaviours, each for the next request that it matches and then used up. */
  script(...steps: ScriptStep[]): void;
  /** Number of requests that wait because their step says `hold`. */
  readonly held: number;
  /** Lets them be answered; those that come later wait again. */
  release(): void;
  /** Forgets the script, the failures counted, the requests recorded and the media tasks; holds nothing any more. */
  reset(): void;
  /** Number of requests whose response is not over yet. */
  openConnections(): number;
  /** Cuts every connection; resolves when nothing of the simulator runs any more. */
  close(): Promise<void>;
}

/** Starts a simulator; without a port it takes a free one. It listens when the promise resolves. */
export async function startSimulator(
  options: { port?: number; host?: string } = {},
): Promise<Simulator> {
  const { host = '127.0.0.1' } = options;
  const simulator = new HttpSimulator();
  const port = await simulator.listen(options.port ?? 0, host);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    get requests() {
      return simulator.requests;
    },
    get total() {
      return simulator.total;
    },
    get answered() {
      return simulator.answered;
    },
    get held() {
      return simulator.held;
    },
    release: () => simulator.release(),
    script: (...steps) => simulator.queue(steps),
    reset: () => simulator.reset(),
    openConnections: () => simulator.openConnections(),
    close: () => simulator.close(),
  };
}
