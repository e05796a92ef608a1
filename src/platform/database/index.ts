export { BACKUP_LOCK, isBackupRunning } from './backup-lock.js';
export * from './columns.js';
export { createDataSource } from './data-source.js';
export { Database, SharedReads } from './database.js';
export type { RunStatement } from './database.js';
export { DatabaseModule, migrateServer } from './database.module.js';
export type { DatabaseOptions } from './database.module.js';
export { DirectoryInUseError } from './directory-lock.js';
export {
  EMPTY_FOLDER_FILE,
  openEmbedded,
  openInMemory,
  prepareEmbedded,
  preparedFolder,
  restoreEmbedded,
} from './embedded.js';
export type { EmbeddedStore } from './embedded.js';
export { isNewerMigration, NewerSchemaError, OldSchemaError } from './migrations.js';
export type { StatementObserver } from './pool.js';
export {
  among,
  anyOf,
  containing,
  createdWithin,
  likewise,
  noneOf,
  startingWith,
} from './search.js';
export {
  domainErrorOf,
  isConnectionFailure,
  isDeadlock,
  isForeignKeyViolation,
  isInvalidValue,
  isOutage,
  isUnavailable,
  isUniqueViolation,
  unavailableError,
} from './violation.js';
export { SealedColumns } from './sealed-columns.js';
export type { SealedColumn, SealedCount } from './sealed-columns.js';
export { columnName } from './snake-naming.strategy.js';
export { storableJson, storableList, storableText } from './storable.js';
export { withLongStatements, withStatementLimit } from './statement-limit.js';
export { acrossTenants, boundTenant, inTenant } from './tenant-check.js';
export { requireRevision } from './revision.js';
export type { RevisedChange } from './revision.js';
export { requestedOrder, TenantScoped } from './tenant-scoped.js';
export type { TenantOwned } from './tenant-scoped.js';
