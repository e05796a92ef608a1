import { AsyncLocalStorage } from 'node:async_hooks';

const lists = new AsyncLocalStorage<string[]>();

interface SentStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

let sentStatements: Map<string, SentStatement> | undefined;

/** Sees each statement that the application runs. */
export function recordStatement(sql: string, values: readonly unknown[]): void {
  lists.getStore()?.push(sql);
  if (sentStatements && !sentStatements.has(sql)) sentStatements.set(sql, { sql, values });
}

/** The statements that this work runs, each as often as it does; not those of others at the same time. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const list: string[] = [];
  await lists.run(list, work);
  return list;
}

/** The statements of the whole process while the work runs, each text once with the values of its first time. */
export async function allStatementsOf(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const statements = new Map<string, SentStatement>();
  sentStatements = statements;
  try {
    await work();
  } finally {
    sentStatements = undefined;
  }
  return [...statements.values()];
}
