import { fileURLToPath } from 'node:url';
import { getCallSites } from 'node:util';
import { acrossTenants, Database } from '../../src/platform/database/index.js';

const tests = fileURLToPath(new URL('..', import.meta.url));

type Query = Database['query'];

/** A test that asks the database itself, instead of the application, may ask for any tenant. */
export function allowStatementsOfTests(): void {
  const { query } = Database.prototype;
  if (query.name === 'queryOfTest') return;
  Database.prototype.query = function queryOfTest(
    this: Database,
    ...args: Parameters<Query>
  ): Promise<unknown[]> {
    const run = (): Promise<unknown[]> => query.apply(this, args);
    if (!isCalledByTest()) return run();
    return acrossTenants('a test', run);
  } as Query;
}

/** Looks at the frame that called the method above; a stack text would be mapped to the sources at each statement. */
function isCalledByTest(): boolean {
  const [, , caller] = getCallSites(3, { sourceMap: false });
  return caller?.scriptName.includes(tests) ?? false;
}
