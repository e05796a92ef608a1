import { start } from './start.js';

// The jobs alone: the same as main.ts with ROLE=worker.
await start({ ...process.env, ROLE: 'worker' });
