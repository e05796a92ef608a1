import { readFileSync } from 'node:fs';
import { setSourceMapsSupport } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { jestExpect } from '@jest/expect';
import { addEventHandler, getState, resetState, run as runTests } from 'jest-circus';
import { jest } from './globals.mjs';
import { captureProcess } from './process-state.mjs';

/** Rejections that nothing has handled so far, by their promise. */
const rejections = new Map();
let files = 0;

/** What Linux counts processor time in, on every machine (USER_HZ). */
const TICKS_PER_SECOND = 100;

// Without those of packages, whose files would be read and parsed with each module: a tenth of the time to load them all.
setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
addEventHandler(reportToExpect);
watchForUnhandledErrors();
const restoreProcess = captureProcess();

/** Runs one test file and leaves this process as it was before, but for the modules that are loaded. */
export async function run(task) {
  const start = Date.now();
  const cpuBefore = cpuSeconds();
  for (const name of task.withoutVariables) delete process.env[name];
  try {
    return {
      ...(await runFile(task)),
      start,
      end: Date.now(),
      cpuSeconds: cpuSeconds() - cpuBefore,
      residentBytes: process.memoryUsage.rss(),
    };
  } finally {
    jest.useRealTimers();
    jest.restoreAllMocks();
    restoreProcess();
  }
}

/** User and system time of this process and of all its children that have ended; NaN where there is no /proc. */
function cpuSeconds() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return ticks / TICKS_PER_SECOND;
  } catch {
    return NaN;
  }
}

async function runFile({ path, setupFiles, testNamePattern, testTimeout, expand }) {
  resetState();
  rejections.clear();
  Object.assign(getState(), {
    expand,
    testTimeout,
    testNamePattern: testNamePattern ? new RegExp(testNamePattern, 'i') : null,
  });
  jestExpect.setState({ expand, testPath: path });
  files += 1;
  try {
    // The query has them evaluated again for each file; what they import is shared.
    for (const file of [...setupFiles, path]) {
      await import(`${pathToFileURL(file).href}?run=${files}`);
    }
  } catch (error) {
    return { error: describe(error) };
  }
  const { testResults, unhandledErrorsDetailed } = await runTests();
  await setImmediate();
  const fileErrors = [...unhandledErrorsDetailed, ...takeRejections()].map(describe);
  return { testResults: testResults.map(resultOf), fileErrors };
}

function resultOf({ testPath, status, errors, duration, startedAt, ...rest }) {
  const [, ...titles] = testPath;
  return {
    ancestorTitles: titles.slice(0, -1),
    title: titles.at(-1),
    fullName: titles.join(' '),
    status: { skip: 'pending', todo: 'todo' }[status] ?? (errors.length > 0 ? 'failed' : 'passed'),
    duration,
    startAt: startedAt,
    failureMessages: errors.map(readableFrames),
    failureDetails: [],
    invocations: rest.invocations,
    location: null,
    numPassingAsserts: rest.numPassingAsserts,
    retryReasons: [],
  };
}

/** What Jest does between its test framework and its assertions. */
async function reportToExpect(event) {
  if (event.name === 'test_start') {
    jestExpect.setState({ currentTestName: nameOf(event.test), testFailing: event.test.failing });
  }
  if (event.name !== 'test_done') return;
  const { test } = event;
  await setImmediate();
  const { numPassingAsserts, suppressedErrors } = jestExpect.getState();
  const expectations = jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error);
  jestExpect.setState({ suppressedErrors: [] });
  test.numPassingAsserts = numPassingAsserts;
  test.errors.push(...suppressedErrors, ...expectations, ...takeRejections());
}

function nameOf(test) {
  const names = [test.name];
  for (let block = test.parent; block?.parent; block = block.parent) names.unshift(block.name);
  return names.join(' ');
}

/** An error that no code catches fails the test that runs, or else the file. */
function watchForUnhandledErrors() {
  process.on('uncaughtException', (error) => {
    const { currentlyRunningTest, unhandledErrors } = getState();
    (currentlyRunningTest?.errors ?? unhandledErrors).push(error);
  });
  process.on('unhandledRejection', (reason, promise) => rejections.set(promise, reason));
  process.on('rejectionHandled', (promise) => rejections.delete(promise));
}

function takeRejections() {
  const reasons = [...rejections.values()];
  rejections.clear();
  return reasons;
}

/** Circus keeps an error together with one that says where the test stands. */
function describe(error) {
  const [thrown, place] = Array.isArray(error) ? error : [error];
  if (thrown?.stack) return { message: thrown.message, stack: readableFrames(thrown.stack) };
  const message = `thrown: ${thrown?.message ?? inspect(thrown)}`;
  return { message, stack: place?.stack ? `${message}\n${place.stack}` : message };
}

/** Node names a mapped frame without a function `<anonymous> (file)`, which Jest leaves out of its reports. */
function readableFrames(stack) {
  return stack.replace(/^(\s+at (?:async )?)<anonymous> \((.+)\)$/gm, '$1$2');
}
