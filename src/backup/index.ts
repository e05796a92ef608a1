export { makeBackup } from './backup.js';
export { BackupError } from './backup.format.js';
export { BackupBucket, BackupFolder } from './backup.place.js';
export type { BackupPlace } from './backup.place.js';
export { restoreBackup, verifyBackup } from './restore.js';
export type { VerifyResult } from './restore.js';
