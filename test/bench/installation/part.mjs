import { once } from 'node:events';
import { familyOf } from '../chat/contention.mjs';

/** One process of an installation that can be killed, frozen, ended and started again. `start` answers a ready child. */
export class Part {
  #children;
  #start;

  constructor(children, name, start) {
    this.#children = children;
    this.#start = start;
    this.name = name;
  }

  async start() {
    this.child = await this.#start();
    return this;
  }

  kill() {
    return this.#children.stop(this.child, 'SIGKILL');
  }

  freeze() {
    this.#signal('SIGSTOP');
  }

  thaw() {
    this.#signal('SIGCONT');
  }

  /** As a supervisor does: SIGTERM, and all the time that drain and grace take. */
  async terminate() {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const [code, signal] = await ended;
    if (code !== 0) throw new Error(`${this.name} ended with ${code ?? signal} after SIGTERM.`);
  }

  /** A server may consist of several processes. */
  #signal(signal) {
    for (const { pid } of familyOf(this.child.pid)) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It has ended since.
        if (error.code !== 'ESRCH') throw error;
      }
    }
  }
}
