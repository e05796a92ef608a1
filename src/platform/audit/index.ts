export { AuditLog } from './audit.log.js';
export type { AuditAction, AuditActor, AuditRecord } from './audit.log.js';
export { AuditNames } from './audit-names.repository.js';
export { AuditModule } from './audit.module.js';
