import { writeFileSync } from 'node:fs';

/**
 * A Jest reporter that leaves the totals of a run in a file, with the given paths that no test file has. A suite that broke off
 * without a failed test counts as one.
 */
export default class TestCounts {
  constructor({ rootDir, testPathPatterns }, { file }) {
    this.rootDir = rootDir;
    this.paths = testPathPatterns;
    this.file = file;
  }

  onRunComplete(_contexts, results) {
    writeFileSync(
      this.file,
      JSON.stringify({
        passed: results.numPassedTests,
        failed: results.numFailedTests + results.testResults.filter(brokeOff).length,
        skipped: results.numPendingTests + results.numTodoTests,
        unmatched: this.paths.patterns.filter((path) => !results.testResults.some(this.#has(path))),
      }),
    );
  }

  /** As Jest reads a path. */
  #has(path) {
    const { constructor: Paths } = this.paths;
    const given = new Paths([path]).toExecutor({ rootDir: this.rootDir });
    return ({ testFilePath }) => given.isMatch(testFilePath);
  }
}

function brokeOff({ failureMessage, numFailingTests }) {
  return Boolean(failureMessage) && numFailingTests === 0;
}
