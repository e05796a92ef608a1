export { configure } from './configure.js';
export type { ClientSettings } from './settings.js';
export { withMessage } from './message.js';
export type { WithMessage } from './message.js';
export { ApiError, ConnectionError } from './errors.js';
export {
  streamChat,
  streamHarness,
  streamModelTest,
  streamNotices,
  streamRunEvents,
} from './streams.js';
export type {
  ChatEvent,
  ChatSendBody,
  ChatSource,
  ChatStreamOptions,
  FollowedRun,
  FollowOptions,
  HarnessEvent,
  HarnessNews,
  LeftOutSource,
  ModelTestEvent,
  Notice,
} from './streams.js';
export { importTestSet, uploadDocuments, uploadFile } from './uploads.js';
export type { DocumentUpload, UploadOptions } from './uploads.js';
export * from './generated/sdk.gen.js';
export type * from './generated/types.gen.js';
