export { DiskStorage } from './disk-storage.js';
export { sendAttachment } from './download.js';
export { displayName, HEAD_BYTES, isPageImage, suffixOf, typeOf } from './file-type.js';
export { FileOwners, StorageService } from './storage.service.js';
export { Installation } from './installation.js';
export { StorageMove } from './storage-move.js';
export { ObjectStorage } from './object-storage.js';
export { s3Transport } from './s3-transport.js';
export { FileStorage, isRefused, UploadEngine } from './file-storage.js';
export type {
  NamedObjects,
  ReceivedFile,
  UploadedPart,
  WriteOptions,
  WrittenFile,
} from './file-storage.js';
export { ContentMissingError, FileTooLargeError, UnreadableUploadError } from './storage.errors.js';
export { openFileStorage, StorageModule } from './storage.module.js';
export type { OpenedFile, StoredFileInfo } from './storage.service.js';
export {
  FILES_A_REQUEST,
  ReceivedFiles,
  ReceivesAvatar,
  ReceivesFileOrJson,
  ReceivesFiles,
} from './upload.interceptor.js';
