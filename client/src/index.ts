export { createPlinth } from './plinth.js';
export type { Plinth } from './plinth.js';
export type { PlinthSettings } from './settings.js';
export { withMessage } from './message.js';
export type { WithMessage } from './message.js';
export { ApiError, ConnectionError } from './errors.js';
export type {
  ChatEvent,
  ChatSendBody,
  ChatSource,
  ChatStreamOptions,
  FollowedRun,
  FollowOptions,
  HarnessEvent,
  HarnessNews,
  UserNews,
  FailedFile,
  LeftOutSource,
  ModelTestEvent,
  ModelTestOptions,
  Notice,
  Streams,
} from './streams.js';
export type {
  DocumentUpload,
  FileUpload,
  TestSetImport,
  UploadOptions,
  Uploads,
} from './uploads.js';
export type * from './generated/types.gen.js';
export { knowledgeSettings } from './generated/settings.gen.js';
