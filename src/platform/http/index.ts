export { AroundInterceptor } from './around.interceptor.js';
export { isBlank, VISIBLE } from './blank.js';
export {
  BodyInterceptor,
  closeHalfSent,
  FormBody,
  LargeBody,
  NoBody,
  SmallBody,
} from './body.interceptor.js';
export { oneHost } from './one-host.js';
export { BodyModule } from './body.module.js';
export { BodyBudget, UnreadableBodyError } from './body.reader.js';
export { FormFiles, ReceivesForm } from './form.interceptor.js';
export type { FormFile } from './form.interceptor.js';
export { bytesOfIpv6, clientNetwork } from './client-network.js';
export { clientSoftware } from './client-software.js';
export { Answer, envelope, OK_MESSAGE, Page } from './envelope.js';
export { EnvelopeInterceptor, hasNoEnvelope, NoEnvelope } from './envelope.interceptor.js';
export {
  AnyObject,
  AsSent,
  Decimal,
  defined,
  Flag,
  Given,
  Id,
  Ids,
  Input,
  OneOf,
  Status,
  Text,
  Texts,
  BasedOnRevision,
  Whole,
  ZeroOrOne,
} from './field.js';
export type { Field } from './field.js';
export {
  FAILURE_DATA,
  FailureData,
  failureFields,
  FailsWith,
  FailsWithArray,
} from './failure.view.js';
export { ICON } from './icon.js';
export { IdPipe, IdsPipe } from './id.pipe.js';
export { checkShape, inputPipe } from './input.pipe.js';
export { localized } from './localized.js';
export { messageForProgram } from './message-for-programs.js';
export {
  isWholeList,
  MOST_CHOICES,
  MOST_ROWS,
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
export { answerInSteps } from './answer-in-steps.js';
export type { Steps } from './answer-in-steps.js';
export { Nested, StrictFields } from './strict-fields.js';
export { sseFrame, SseWriter } from './sse.writer.js';
export {
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  givenTime,
  readTimeRange,
  TimeRange,
  TimeRangeField,
  wireTime,
} from './time.js';
export { ignoredParameters, setIgnoredParameters } from './ignored-parameters.js';
export { inOrder } from './in-order.js';
export { JSON_BODY, ReadsJson } from './json-body.js';
export { currentRequest, requestContext } from './request-context.js';
export type { RequestContext } from './request-context.js';
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
export { onClose, WhileConnected, whileConnected } from './while-connected.decorator.js';
