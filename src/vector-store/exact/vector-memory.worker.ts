import type { VectorHit } from '../vector-store.js';
import { VectorMemory } from './vector-memory.js';
import type {
  ForgetTask,
  MissingTask,
  SearchAnswer,
  SearchTask,
  UpdateTask,
} from './vector-memory.js';

// The program of the worker thread. The memory belongs to this module and ends with the thread.
const memory = new VectorMemory();

export function search(task: SearchTask): SearchAnswer | undefined {
  return memory.search(task);
}

export function missing(task: MissingTask): number[] {
  return memory.missing(task);
}

export function update(task: UpdateTask): VectorHit[] | undefined {
  return memory.update(task);
}

export function forget(task: ForgetTask): void {
  memory.forget(task);
}
