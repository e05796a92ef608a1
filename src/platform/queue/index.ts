export { JobQueue } from './job-queue.js';
export type { AddOptions, HandleOptions, JobCounts, JobHandler, QueuedJob } from './job-queue.js';
export { QueueModule } from './queue.module.js';
export { Repetition } from './repetition.js';
