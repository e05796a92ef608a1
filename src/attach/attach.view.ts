import {
  flag,
  integer,
  localized,
  nullable,
  oneOf,
  optional,
  recordId,
  schema,
  sheetOf,
  text,
  time,
  View,
  wireTime,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { METADATA_TYPES, shownMetadata } from '../metadata/index.js';
import type { Metadata, MetadataKey } from '../metadata/index.js';
import { AttachmentStatus } from './attachment.entity.js';
import type { Attachment } from './attachment.entity.js';
import type { Message } from '../platform/message/index.js';

/** A document of a knowledge base and where its parsing stands. */
export class AttachmentView extends View({
  id: recordId(),
  knowledgeId: recordId(),
  docId: text({ example: 'a1b2c3d4e5', description: 'Names the document; never changes' }),
  name: text({ example: 'manual.pdf' }),
  type: text({ example: '.pdf' }),
  ossId: nullable(text({ example: '1', description: 'The stored file' })),
  byteSize: integer({ example: 1_024 }),
  file_hash: text({
    example: '5f1c…e9',
    description: 'SHA-256 of the content, lower-case hex; a base takes each content once',
  }),
  encoding: nullable(text({ example: 'utf-8', description: 'Of a text file, once it is parsed' })),
  status: schema<number>({
    type: 'integer',
    minimum: 0,
    maximum: 3,
    example: 2,
    description: '0 pending, 1 parsing, 2 parsed, 3 failed',
  }),
  parseRequested: flag({
    example: false,
    description: 'Parsing was asked for and has not ended: status will change by itself',
  }),
  remark: nullable(text({ description: 'Why it failed; of any other, what was written by hand' })),
  reason: nullable(text({ description: 'Why it is not parsed yet, or why it failed' })),
  waitingFor: nullable(text({ example: '3 documents are before it.' })),
  fragmentCount: integer({ example: 120 }),
  progressDone: integer({ example: 120, description: 'Fragments embedded so far' }),
  progressTotal: nullable(
    integer({ example: 120, description: 'Of so many; null until they are known' }),
  ),
  ocrDone: integer({ example: 0, description: 'Pages read by text recognition so far' }),
  ocrTotal: nullable(integer({ example: 12, description: 'Of so many; null where none is read' })),
  contextDone: integer({ example: 0, description: 'Fragments whose context is written so far' }),
  inputTokens: integer({
    example: 0,
    description: 'Tokens that chat models read for the last parsing',
  }),
  outputTokens: integer({ example: 0, description: 'Tokens that they wrote' }),
  restricted: flag({
    example: false,
    description: 'Whether it has a list of readers: GET /access/document/{id}',
  }),
  metadata: schema<Metadata>({
    type: 'object',
    additionalProperties: true,
    example: { department: 'sales', year: 2026, issued: '2026-01-31', tags: ['price', 'list'] },
    description: 'Keys and values that were given; a time is in UTC',
  }),
  createTime: time(),
  updateTime: time(),
  parsedTime: nullable(time()),
}) {}

/** A key of metadata that documents of a knowledge base have; once for each type of its values. */
export class MetadataKeyView extends View({
  key: text({ example: 'department' }),
  type: oneOf<MetadataKey['type']>(Object.values(METADATA_TYPES)),
  documents: integer({ example: 12, description: 'How many have it with this type' }),
}) {}

export const attachmentSheet = sheetOf<AttachmentView>('Documents', {
  id: 'Id',
  knowledgeId: 'Knowledge base',
  docId: 'Document id',
  name: 'Name',
  type: 'Type',
  byteSize: 'Bytes',
  status: ['Status', { 0: 'Pending', 1: 'Parsing', 2: 'Parsed', 3: 'Failed' }],
  reason: 'Reason',
  fragmentCount: 'Fragments',
  createTime: 'Created',
  parsedTime: 'Parsed',
});

/** `ahead`: how many documents are parsed before it, for one that waits. */
export function toAttachmentView(attachment: Attachment, ahead = 0): AttachmentView {
  const { ossId, status, failure } = attachment;
  const waitingFor = localized(waitingForOf(attachment, ahead));
  const isFailed = status === AttachmentStatus.failed;
  const shownFailure = isFailed ? localized(failure) : null;
  return AttachmentView.of(attachment, {
    ossId: ossId === null ? null : String(ossId),
    file_hash: attachment.fileHash,
    remark: shownFailure ?? attachment.remark,
    reason: shownFailure ?? waitingFor,
    waitingFor,
    metadata: shownMetadata(attachment.metadata),
    parsedTime: wireTime(attachment.parsedAt),
  });
}

function waitingForOf(
  { status, parseRequested, waitingFor }: Attachment,
  ahead: number,
): Message | null {
  if (status === AttachmentStatus.parsing) return waitingFor;
  if (status !== AttachmentStatus.pending) return null;
  if (!parseRequested) return msg`Parsing has not been asked for.`;
  if (waitingFor !== null) return waitingFor;
  return ahead === 1 ? msg`1 document is before it.` : msg`${ahead} documents are before it.`;
}

/** Result for one file of an upload: the document, or the reason for its refusal. */
export class UploadedAttachmentView extends View({
  name: text({ example: 'manual.pdf' }),
  id: optional(recordId()),
  status: optional(integer({ example: 0 })),
  error: optional(text({ description: 'Why it was not stored' })),
}) {}

/** Limits of an upload. */
export class UploadLimitsView extends View({
  fileBytes: integer({ example: 52_428_800, description: 'Bytes of one file at most' }),
  filesPerRequest: integer({ example: 20 }),
}) {}

/** Number of documents that a request for parsing reached. */
export class ReparseView extends View({
  submitted: integer({ example: 11, description: 'Those that are parsed now' }),
  skipped: integer({ example: 1, description: 'Those that were being parsed already' }),
  total: integer({ example: 12 }),
}) {}
