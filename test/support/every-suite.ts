import { afterAll } from '@jest/globals';
import { recordedStatements } from './statement-recorder.js';

/**
 * Runs with every test file, for what ran outside of a Plinth: Plinth.stop() has checked the rest.
 * The entities are loaded only where a statement ran, so that a unit test starts fast.
 */
afterAll(async () => {
  if (recordedStatements().size === 0) return;
  const { checkRecordedStatements } = await import('./statements/recorded-statements.js');
  checkRecordedStatements();
});
