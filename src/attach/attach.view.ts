import { Id, Text, Whole, wireTime } from '../platform/http/index.js';
import { AttachmentStatus } from './attachment.entity.js';
import type { Attachment } from './attachment.entity.js';

/** A document of a knowledge base and where its parsing stands. */
export class AttachmentView {
  @Id()
  id: number;

  @Id()
  knowledgeId: number;

  @Text({ example: 'a1b2c3d4e5', description: 'Names the document; never changes' })
  docId: string;

  @Text({ example: 'manual.pdf' })
  name: string;

  @Text({ example: '.pdf' })
  type: string;

  @Text({ nullable: true, example: '1', description: 'The stored file' })
  ossId: string | null;

  @Whole({ example: 1_024 })
  byteSize: number;

  @Text({ nullable: true, example: 'utf-8', description: 'Of a text file, once it is parsed' })
  encoding: string | null;

  @Whole({ min: 0, max: 3, example: 2, description: '0 pending, 1 parsing, 2 parsed, 3 failed' })
  status: number;

  @Text({ nullable: true, description: 'Why it failed, or what was written by hand' })
  remark: string | null;

  @Text({ nullable: true, description: 'Why it is not parsed yet, or why it failed' })
  reason: string | null;

  @Text({ nullable: true, example: '3 documents are before it.' })
  waitingFor: string | null;

  @Whole({ example: 120 })
  fragmentCount: number;

  @Whole({ example: 120, description: 'Fragments embedded so far' })
  progressDone: number;

  @Whole({ nullable: true, example: 120, description: 'Of so many; null until they are known' })
  progressTotal: number | null;

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @Text({ example: '2026-01-31 18:30:00' })
  updateTime: string;

  @Text({ nullable: true, example: '2026-01-31 18:30:00' })
  parsedTime: string | null;
}

/** `ahead`: how many documents are parsed before it, for one that waits. */
export function toAttachmentView(attachment: Attachment, ahead = 0): AttachmentView {
  const { id, knowledgeId, docId, name, type, ossId, byteSize, encoding, status } = attachment;
  const { fragmentCount, progressDone, progressTotal, remark } = attachment;
  const waitingFor = waitingForOf(attachment, ahead);
  return {
    id,
    knowledgeId,
    docId,
    name,
    type,
    ossId: ossId === null ? null : String(ossId),
    byteSize,
    encoding,
    status,
    remark,
    reason: status === AttachmentStatus.failed ? remark : waitingFor,
    waitingFor,
    fragmentCount,
    progressDone,
    progressTotal,
    createTime: wireTime(attachment.createTime),
    updateTime: wireTime(attachment.updateTime),
    parsedTime: wireTime(attachment.parsedAt),
  };
}

function waitingForOf(
  { status, parseRequested, waitingFor }: Attachment,
  ahead: number,
): string | null {
  if (status === AttachmentStatus.parsing) return waitingFor;
  if (status !== AttachmentStatus.pending) return null;
  if (!parseRequested) return 'Parsing has not been asked for.';
  if (waitingFor !== null) return waitingFor;
  return ahead === 1 ? '1 document is before it.' : `${ahead} documents are before it.`;
}

/** What became of one file of an upload: the document, or why there is none. */
export class UploadedAttachmentView {
  @Text({ example: 'manual.pdf' })
  name: string;

  @Id({ optional: true })
  id?: number;

  @Whole({ optional: true, example: 0 })
  status?: number;

  @Text({ optional: true, description: 'Why it was not stored' })
  error?: string;
}

/** How many documents a request for parsing reached. */
export class ReparseView {
  @Whole({ example: 11, description: 'Those that are parsed now' })
  submitted: number;

  @Whole({ example: 1, description: 'Those that were being parsed already' })
  skipped: number;

  @Whole({ example: 12 })
  total: number;
}
