import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from './built-process.js';

/** A redis-server of a test alone, which the test can freeze: its sockets stay open and nothing is answered. */
export class RedisProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<RedisProcess> {
    const port = await freePort();
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
    const child = spawn('redis-server', [...settings, '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let isReady = false;
    for await (const line of createInterface({ input: child.stdout })) {
      isReady = line.includes('Ready to accept connections');
      if (isReady) break;
    }
    if (!isReady) throw new Error('redis-server did not start.');
    child.stdout.resume();
    return new RedisProcess(child, `redis://127.0.0.1:${port}`);
  }

  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
