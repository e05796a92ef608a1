import { randomInt } from 'node:crypto';
import { notTested, places, servers } from './test/places.mjs';

// The workers inherit it: all tests of one run share one database template.
process.env.PLINTH_TEST_RUN ??= `${process.pid}_${Date.now().toString(36)}`;

// `npm run test:random`: the examples of property tests are others in each run.
if (process.env.PLINTH_TEST_SEED === 'random') {
  process.env.PLINTH_TEST_SEED = String(randomInt(2 ** 31));
  console.log(`Seed of the property tests: PLINTH_TEST_SEED=${process.env.PLINTH_TEST_SEED}`);
}

const variables = servers.map(({ variable }) => variable);
const onServers = variables.some((name) => process.env[name]);

// Set by scripts/test.mjs: where to leave the totals.
const countsFile = process.env.PLINTH_TEST_COUNTS;

/** docs/TESTING.md says how the tests run and why. */
export default {
  projects: places.flatMap((place) => [
    project(place, place.name, place.onServers),
    ...(onServers && place.repeat ? [project(place, `${place.name}, embedded`, false)] : []),
  ]),
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: [
    'default',
    ...(countsFile ? [['<rootDir>/scripts/test-counts.mjs', { file: countsFile }]] : []),
  ],
  // Suites wait more than they compute: three keep two cores busy.
  maxWorkers: 3,
  // A worker that holds more than this is replaced before its next file.
  workerIdleMemoryLimit: '1500MB',
};

function project({ folders }, displayName, useServers) {
  return {
    displayName,
    rootDir: import.meta.dirname,
    roots: folders.map((folder) => `<rootDir>/${folder}`),
    testMatch: ['**/*.spec.ts'],
    testPathIgnorePatterns: notTested.map((folder) => `<rootDir>/${folder}/`),
    runner: '<rootDir>/test/runner/index.mjs',
    testEnvironmentOptions: { withoutVariables: useServers ? [] : variables },
    setupFilesAfterEnv: ['<rootDir>/test/support/every-suite.ts'],
    // A hook that boots Plinth shares two cores with the other workers, and with whatever else the machine does.
    testTimeout: 300_000,
  };
}
