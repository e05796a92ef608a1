import { start } from './start.js';

// Serves HTTP and runs jobs; ROLE turns either off.
await start(process.env);
