export { sendAttachment } from './download.js';
export { displayName, suffixOf } from './file-name.js';
export { FileOwners } from './file-owners.js';
export { HEAD_BYTES, isPageImage, typeOf } from './file-type.js';
export { Installation } from './installation.js';
export { FileStorage } from './file-storage.js';
export type { WriteOptions, WrittenFile } from './file-storage.js';
export { ContentMissingError, FileTooLargeError, UnreadableUploadError } from './storage.errors.js';
export { StorageModule } from './storage.module.js';
export { StorageService } from './storage.service.js';
export type { OpenedFile, StoredFileInfo } from './storage.service.js';
export {
  FILES_A_REQUEST,
  ReceivedFiles,
  ReceivesAvatar,
  ReceivesFiles,
} from './upload.interceptor.js';
export { isRefused, UploadEngine } from './upload.engine.js';
export type { ReceivedFile, UploadedPart } from './upload.engine.js';
