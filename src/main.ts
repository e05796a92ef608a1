import { start } from './start.js';

// HTTP and the jobs; ROLE leaves one of them out.
await start(process.env);
