export { Lease } from './lease.js';
export type { LeaseTimes } from './lease.js';
export { processId, stateOfProcess } from './process-id.js';
export type { ProcessState } from './process-id.js';
