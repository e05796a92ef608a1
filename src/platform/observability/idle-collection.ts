import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';

const LOOK_MS = 10_000;
/** An event loop that works for less than this part of the time is idle. */
const IDLE = 0.05;
/** What the heap must have grown by since the last collection, for a pause of some 100 ms. */
const WORTH_BYTES = 32 * 2 ** 20;

/** The function is there only where V8 was started with this flag, or is given it before a new context. */
setFlagsFromString('--expose-gc');
const collectAll = runInNewContext('gc') as (options: object) => void;
setFlagsFromString('--no-expose-gc');

/**
 * Returns unused memory to the system once the process is idle. V8 collects garbage when the program allocates, so that a
 * process would keep that of its last busy minute for as long as nothing happens (200 MB after the chat benchmark).
 */
@Injectable()
export class IdleCollection implements OnModuleDestroy {
  private readonly timer = setInterval(() => this.look(), LOOK_MS).unref();
  private measured = performance.eventLoopUtilization();
  private heapAfter = 0;

  /** Collects if the process was idle since the last look, and its heap has grown since the last collection. */
  look(): void {
    const { utilization } = performance.eventLoopUtilization(this.measured);
    this.measured = performance.eventLoopUtilization();
    if (utilization > IDLE) return;
    if (process.memoryUsage().heapTotal - this.heapAfter < WORTH_BYTES) return;
    collectAll({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    this.heapAfter = process.memoryUsage().heapTotal;
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }
}
