import { AsyncLocalStorage } from 'node:async_hooks';

const seen = new Set<string>();
const unrecorded = new AsyncLocalStorage<true>();
const lists = new AsyncLocalStorage<string[]>();

/** Keeps the text of each distinct statement that the application runs. */
export function recordStatement(sql: string): void {
  lists.getStore()?.push(sql);
  if (!unrecorded.getStore()) seen.add(sql);
}

/** The statements that this work runs, each as often as it does; not those of others at the same time. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const list: string[] = [];
  await lists.run(list, work);
  return list;
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
