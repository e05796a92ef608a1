export { RetentionModule } from './retention.module.js';
export { dueBefore, notDue, notOnHold } from './retention.repository.js';
export { RetentionService } from './retention.service.js';
export { RetentionClasses, RetentionSweep } from './retention.sweep.js';
export type { DueRecords } from './retention.sweep.js';
