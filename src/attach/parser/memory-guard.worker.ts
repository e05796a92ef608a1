import { workerData } from 'node:worker_threads';

/**
 * A thread in a parser process that ends the process when it takes more memory than it may. The heap limit alone does
 * not do: the buffers that decompression fills lie outside of the heap. It also ends it when its parent has died, since
 * a busy parser would not notice.
 */
const { limitBytes, parent } = workerData as { limitBytes: number; parent: number };

const INTERVAL_MS = 100;

setInterval(() => {
  if (process.memoryUsage.rss() > limitBytes || process.ppid !== parent) {
    process.kill(process.pid, 'SIGKILL');
  }
}, INTERVAL_MS);
