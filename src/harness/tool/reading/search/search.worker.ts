import { parentPort, workerData } from 'node:worker_threads';
import { filesIn, linesIn } from './thread.search.js';
import type { ThreadAnswer, ThreadTask } from './thread.engine.js';

const BATCH = 50;

function tell(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}

function* batches<T>(items: Iterable<T>): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const task = workerData as ThreadTask;
try {
  if (task.kind === 'files') {
    for (const files of batches(filesIn(task.query))) tell({ type: 'files', files });
  } else {
    for (const lines of batches(linesIn(task.query))) tell({ type: 'lines', lines });
  }
  tell({ type: 'done' });
} catch (error) {
  if (!(error instanceof SyntaxError)) throw error;
  tell({ type: 'refused', reason: error.message });
}
