import { AsyncLocalStorage } from 'node:async_hooks';

const lists = new AsyncLocalStorage<string[]>();

/** Sees each statement that the application runs. */
export function recordStatement(sql: string): void {
  lists.getStore()?.push(sql);
}

/** The statements that this work runs, each as often as it does; not those of others at the same time. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const list: string[] = [];
  await lists.run(list, work);
  return list;
}
