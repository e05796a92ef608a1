export { AuditLog } from './audit.log.js';
export type { AuditAction, AuditActor, AuditRecord } from './audit.log.js';
export { AuditModule } from './audit.module.js';
