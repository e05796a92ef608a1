export type { FrameRecorder } from './frame-recorder.js';
export { ReaderPoll } from './reader-poll.js';
export { StoredStreams } from './stored-streams.js';
export type { FramesRead, StreamEnding } from './stored-streams.js';
export { StreamModule } from './stream.module.js';
export { StreamRetention } from './stream.retention.js';
