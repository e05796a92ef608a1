import { AsyncLocalStorage } from 'node:async_hooks';

const seen = new Set<string>();
const unrecorded = new AsyncLocalStorage<true>();

/** Keeps the text of each distinct statement that the application runs. */
export function recordStatement(sql: string): void {
  if (!unrecorded.getStore()) seen.add(sql);
}

export function recordedStatements(): ReadonlySet<string> {
  return seen;
}

/** For the statements of a test itself, which may look wherever it likes. */
export function withoutRecording<T>(work: () => T): T {
  return unrecorded.run(true, work);
}

/** For the test that shows that a recorded statement is checked. */
export function forgetStatement(sql: string): void {
  seen.delete(sql);
}

export function forgetStatements(): void {
  seen.clear();
}
