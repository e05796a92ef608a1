// The workers inherit it: all tests of one run share one database template.
process.env.PLINTH_TEST_RUN ??= String(process.pid);

/** Tests are TypeScript modules; swc compiles each file on the fly, so that types are the type check's business alone. */
export default {
  rootDir: '.',
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/simulator/**/*.spec.ts', '<rootDir>/test/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '<rootDir>/test/architecture/violations/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest', { swcrc: true, module: { type: 'es6' } }] },
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  maxWorkers: 2,
  workerIdleMemoryLimit: '1500MB',
  testTimeout: 30_000,
};
