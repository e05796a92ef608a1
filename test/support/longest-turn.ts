import { threadCpuUsage } from 'node:process';

/**
 * The most processor time, in milliseconds, that the thread of the process needs for one turn of the event loop. Processor
 * time, because a busy machine makes every turn longer by the clock.
 */
export class LongestTurn {
  private longest = 0;
  private isStopped = false;

  constructor() {
    this.watch(usedMs());
  }

  stop(): number {
    this.isStopped = true;
    return this.longest;
  }

  private watch(before: number): void {
    setImmediate(() => {
      if (this.isStopped) return;
      const now = usedMs();
      this.longest = Math.max(this.longest, now - before);
      this.watch(now);
    });
  }
}

function usedMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}
