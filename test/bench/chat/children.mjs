import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_GRACE_MS = 15_000;

/** Every process of this run, each pinned to a core. Whatever ends the run ends them, by their ids. */
export class Children {
  #running = new Set();
  #ending = false;

  constructor() {
    process.once('exit', () => {
      for (const child of this.#running) child.kill('SIGKILL');
    });
  }

  /** Starts a program that stays; its output goes to `log`. `child.pid` is the program itself. */
  start(command, args, { core, log, ...how }) {
    const output = openSync(log, 'a');
    const child = this.#spawn(command, args, { ...how, core, stdio: ['ignore', output, output] });
    closeSync(output);
    child.log = log;
    return child;
  }

  /** Runs a program to its end and answers what it printed; it is ended after `timeoutMs`. */
  async run(command, args, { core, timeoutMs, ...how }) {
    const child = this.#spawn(command, args, { ...how, core, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    const end = once(child, 'close');
    const late = await Promise.race([
      end.then(() => false),
      sleep(timeoutMs, true, { ref: false }),
    ]);
    if (late) await this.stop(child, 'SIGKILL');
    if (child.exitCode === 0) return printed;
    throw new Error(`${command} ${late ? 'took too long' : 'failed'}: ${errors}${printed}`);
  }

  async stop(child, signal = 'SIGTERM') {
    if (!this.#running.has(child)) return;
    const end = once(child, 'exit');
    child.kill(signal);
    const late = await Promise.race([
      end.then(() => false),
      sleep(STOP_GRACE_MS, true, { ref: false }),
    ]);
    if (!late) return;
    child.kill('SIGKILL');
    await end;
  }

  /** The last one started ends first. */
  async stopAll() {
    this.#ending = true;
    for (const child of [...this.#running].reverse()) await this.stop(child, child.stopSignal);
  }

  #spawn(command, args, { core, stopSignal, ...how }) {
    if (this.#ending) throw new Error('The benchmark is ending.');
    // taskset replaces itself with the program, so the id stays the same.
    const child = spawn('taskset', ['-c', String(core), command, ...args], how);
    child.stopSignal = stopSignal;
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    child.once('error', () => this.#running.delete(child));
    return child;
  }
}

/** Asks again and again until `ready` answers something true; throws with the log when the child has ended. */
export async function untilReady(child, ready, timeoutMs = 60_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (await ready().catch(() => false)) return;
    if (child.exitCode !== null || Date.now() > deadline) {
      const log = readFileSync(child.log, 'utf8').slice(-3_000);
      throw new Error(`${child.spawnargs.slice(3, 6).join(' ')} did not become ready:\n${log}`);
    }
    await sleep(100);
  }
}

/** Resident memory of a process in MB (10^6 bytes, as the goals count it). */
export function residentMb(pid) {
  const [, pages] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return (Number(pages) * 4_096) / 1e6;
}
