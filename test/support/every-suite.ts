import fc from 'fast-check';
import { canary } from './canary.js';

// Test files run one after another in one process, and each has its own secrets.
canary.forget();

// The same examples in each run; `npm run test:random` looks for others.
fc.configureGlobal({ seed: Number(process.env['PLINTH_TEST_SEED'] ?? 1) });
