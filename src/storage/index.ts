export { FileStorage } from './file-storage.js';
export type { WriteOptions, WrittenFile } from './file-storage.js';
export { FileTooLargeError } from './storage.errors.js';
export { storageEntities } from './storage.entity.js';
export { StorageModule } from './storage.module.js';
export type { OpenedFile, StoredFileInfo } from './storage.service.js';
export type { ReceivedFile } from './upload.engine.js';
