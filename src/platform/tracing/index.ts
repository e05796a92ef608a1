export { ATTRIBUTE, OPERATION, providerName, recordedText } from './conventions.js';
export { startTracing } from './start.js';
export {
  currentSpan,
  currentTraceId,
  errorType,
  modelTraceparent,
  recordsContent,
  setContentTenants,
  startSpan,
  startStatement,
  traced,
} from './tracing.js';
export type { Span, SpanAttributes } from './tracing.js';
