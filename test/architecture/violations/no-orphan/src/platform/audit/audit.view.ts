export class AuditView {}
