import { afterAll } from '@jest/globals';
import fc from 'fast-check';
import { canary } from './canary.js';
import { forgetStatements, recordedStatements } from './statement-recorder.js';

// Test files run one after another in one process, and each has its own secrets and statements.
canary.forget();
forgetStatements();

// The same examples in each run; `npm run test:random` looks for others.
fc.configureGlobal({ seed: Number(process.env['PLINTH_TEST_SEED'] ?? 1) });

/**
 * Runs with every test file, for what ran outside of a Plinth: Plinth.stop() has checked the rest.
 * The entities are loaded only where a statement ran, so that a unit test starts fast.
 */
afterAll(async () => {
  if (recordedStatements().size === 0) return;
  const { checkRecordedStatements } = await import('./statements/recorded-statements.js');
  checkRecordedStatements();
});
