export { AuditChain } from './audit.chain.js';
export { AuditLog } from './audit.repository.js';
export type { AuditAction, AuditActor, AuditRecord } from './audit.repository.js';
export { AuditNames } from './audit-names.repository.js';
export { AuditModule } from './audit.module.js';
