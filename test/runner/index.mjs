import { fileURLToPath } from 'node:url';
import { formatExecError, formatResultsErrors } from 'jest-message-util';
import { Worker } from 'jest-worker';
import { serviceFlags } from '../../scripts/launch.mjs';
import { longestFirst, writeCpu, writeDurations } from './durations.mjs';

const workerPath = fileURLToPath(new URL('worker.mjs', import.meta.url));
const hooks = new URL('../support/typescript-hooks.mjs', import.meta.url).href;

/**
 * A Jest runner that hands each test file to a child process, which runs it in plain Node instead of a vm context: the
 * modules of the sources are evaluated once for each process and not once for each file. See docs/TESTING.md.
 */
export default class TestRunner {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure, { serial }) {
    const queue = longestFirst(tests);
    const measured = [];
    const lane = async () => {
      let worker;
      for (let test = queue.shift(); test && !watcher.isInterrupted(); test = queue.shift()) {
        worker ??= this.#createWorker();
        await onStart(test);
        const outcome = await worker.run(this.#taskOf(test)).catch((error) => ({ error }));
        if (outcome.error) await onFailure(test, outcome.error);
        else await onResult(test, this.#resultOf(test, outcome));
        if (!outcome.error) {
          const { start, end, cpuSeconds } = outcome;
          measured.push({ test, milliseconds: end - start, cpuSeconds });
        }
        if (outcome.error || outcome.residentBytes > this.globalConfig.workerIdleMemoryLimit) {
          await worker.end();
          worker = undefined;
        }
      }
      await worker?.end();
    };
    const lanes = serial ? 1 : Math.min(this.globalConfig.maxWorkers, tests.length);
    await Promise.all(Array.from({ length: lanes }, lane));
    if (process.env.PLINTH_TEST_DURATIONS === 'write') writeDurations(measured);
    const { PLINTH_TEST_CPU: cpuFile } = process.env;
    if (cpuFile) writeCpu(cpuFile, measured);
  }

  #createWorker() {
    const nodeOptions = `${process.env.NODE_OPTIONS ?? ''} --import ${hooks}`.trim();
    const worker = new Worker(workerPath, {
      exposedMethods: ['run'],
      numWorkers: 1,
      // A process that dies has failed the file that it ran.
      maxRetries: 0,
      forkOptions: {
        stdio: 'pipe',
        serialization: 'advanced',
        execArgv: serviceFlags,
        env: { ...process.env, NODE_OPTIONS: nodeOptions },
      },
    });
    worker.getStdout()?.pipe(process.stdout, { end: false });
    worker.getStderr()?.pipe(process.stderr, { end: false });
    return worker;
  }

  #taskOf({ path, context: { config } }) {
    const { expand, testNamePattern, testTimeout } = this.globalConfig;
    return {
      path,
      expand,
      testNamePattern,
      testTimeout: testTimeout ?? config.testTimeout,
      setupFiles: config.setupFilesAfterEnv,
      withoutVariables: config.testEnvironmentOptions.withoutVariables ?? [],
    };
  }

  #resultOf({ path, context: { config } }, { testResults, fileErrors, start, end }) {
    const { globalConfig } = this;
    const count = (status) => testResults.filter((result) => result.status === status).length;
    const messages = [
      formatResultsErrors(testResults, config, globalConfig, path),
      ...fileErrors.map((error) => formatExecError(error, config, globalConfig, path)),
    ].filter(Boolean);
    const runtime = end - start;
    return {
      displayName: config.displayName,
      failureMessage: messages.length > 0 ? messages.join('\n\n') : null,
      leaks: false,
      numFailingTests: count('failed'),
      numPassingTests: count('passed'),
      numPendingTests: count('pending'),
      numTodoTests: count('todo'),
      openHandles: [],
      perfStats: { start, end, runtime, slow: runtime / 1_000 > config.slowTestThreshold },
      skipped: false,
      snapshot: NO_SNAPSHOTS,
      testExecError: fileErrors[0],
      testFilePath: path,
      testResults,
    };
  }
}

const NO_SNAPSHOTS = {
  added: 0,
  fileDeleted: false,
  matched: 0,
  unchecked: 0,
  uncheckedKeys: [],
  unmatched: 0,
  updated: 0,
};
