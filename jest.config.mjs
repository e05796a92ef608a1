// The workers inherit it: all tests of one run share one database template.
process.env.PLINTH_TEST_RUN ??= `${process.pid}_${Date.now().toString(36)}`;

// Set by scripts/test.mjs: the suites to run a second time on servers, and where to leave the totals.
const specs = process.env.PLINTH_SPECS?.split(',');
const countsFile = process.env.PLINTH_TEST_COUNTS;

/** Tests are TypeScript modules; swc compiles each file on the fly, so that types are the type check's business alone. */
export default {
  rootDir: '.',
  testMatch: specs?.map((spec) => `<rootDir>/${spec}`) ?? [
    '<rootDir>/src/**/*.spec.ts',
    '<rootDir>/simulator/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '<rootDir>/test/architecture/violations/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.plinth/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest', { swcrc: true, module: { type: 'es6' } }] },
  setupFilesAfterEnv: ['<rootDir>/test/support/every-suite.ts'],
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: [
    'default',
    ...(countsFile ? [['<rootDir>/scripts/test-counts.mjs', { file: countsFile }]] : []),
  ],
  maxWorkers: 2,
  workerIdleMemoryLimit: '1500MB',
  // A hook that boots Plinth shares two cores with the other worker.
  testTimeout: 180_000,
};
