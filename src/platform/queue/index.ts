export { PeriodicRound } from './periodic-round.js';
export type { Swept } from './periodic-round.js';
export { jobKindsOf, JobQueue } from './job-queue.js';
export type { AddOptions, JobCounts, JobHandler, JobKinds, QueuedJob } from './job-queue.js';
export { QueueModule } from './queue.module.js';
export { nextTime, requireTimes } from './cron.js';
export type { CronTimes } from './cron.js';
export { IntervalJob } from './interval-job.js';
