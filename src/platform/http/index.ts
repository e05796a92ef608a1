export {
  AnyObject,
  AsSent,
  BasedOnRevision,
  Decimal,
  defined,
  Flag,
  Given,
  Id,
  Ids,
  Input,
  isBlank,
  OneOf,
  Status,
  Text,
  Texts,
  VISIBLE,
  Whole,
  ZeroOrOne,
} from './field.js';
export type { Field } from './field.js';
export {
  BodyBudget,
  BodyInterceptor,
  BodyModule,
  closeHalfSent,
  FormBody,
  JSON_BODY,
  LargeBody,
  NoBody,
  ReadsJson,
  SmallBody,
  UnreadableBodyError,
} from './body.js';
export {
  bytesOfIpv6,
  clientNetwork,
  clientSoftware,
  compose,
  currentRequest,
  ignoredParameters,
  localized,
  oneHost,
  requestContext,
  setIgnoredParameters,
} from './request.js';
export type { RequestContext } from './request.js';
export { FormFiles, ReceivesForm } from './form.interceptor.js';
export type { FormFile } from './form.interceptor.js';
export {
  Answer,
  AroundInterceptor,
  envelope,
  EnvelopeInterceptor,
  hasNoEnvelope,
  messageForProgram,
  NoEnvelope,
  OK_MESSAGE,
  Page,
} from './answer.js';
export {
  FAILURE_DATA,
  FailureData,
  failureFields,
  FailsWith,
  FailsWithArray,
} from './failure.view.js';
export { ICON } from './icon.js';
export { checkShape, IdPipe, IdsPipe, inputPipe, Nested, StrictFields } from './input.pipe.js';
export {
  isWholeList,
  MAX_CHOICES,
  MAX_ROWS,
  orderOf,
  pageFields,
  PageQuery,
  rowsOf,
} from './page.query.js';
export {
  Answers,
  AnswersArray,
  AnswersArrayAndPage,
  AnswersFile,
  AnswersId,
  AnswersInSteps,
  AnswersNullable,
  AnswersOrFile,
  AnswersPage,
  AnswersRaw,
  AnswersStatus,
  AnswersText,
} from './answer.decorator.js';
export {
  answerInSteps,
  onClose,
  sseFrame,
  SseWriter,
  whileConnected,
  WhileConnected,
} from './stream.js';
export type { Steps } from './stream.js';
export {
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  givenTime,
  readTimeRange,
  TimeRange,
  TimeRangeField,
  wireTime,
} from './time.js';
export {
  decimal,
  flag,
  integer,
  integers,
  list,
  nullable,
  number,
  numbers,
  object,
  oneOf,
  optional,
  recordId,
  recordRevision,
  schema,
  someOf,
  text,
  texts,
  time,
  timestamp,
  uuid,
  View,
  zeroOrOne,
} from './view.js';
export { AnswersWorkbook, WithExport } from './export.decorator.js';
export type { ListReader } from './export.decorator.js';
export { sheetOf } from './workbook.js';
export { readWorkbook } from './workbook.reader.js';
