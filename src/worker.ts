import { start } from './start.js';

// Runs only jobs, like main.ts with ROLE=worker.
await start({ ...process.env, ROLE: 'worker' });
