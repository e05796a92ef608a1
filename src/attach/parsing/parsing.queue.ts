import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/event/index.js';
import { JobQueue } from '../../platform/queue/index.js';
import type { AddOptions } from '../../platform/queue/index.js';
import { msg } from '../../platform/message/index.js';
import type { Attachment } from '../attachment.entity.js';
import { ParsingRepository } from './parsing.repository.js';
import type { WaitingDocument } from './parsing.repository.js';

/** The kinds of parsing jobs. Large documents have places of their own, so that no small one waits for them. */
export const PARSE_JOB = 'attachment.parse';
export const PARSE_LARGE_JOB = 'attachment.parse-large';

/** A file up to this size is small: many of them are ingested at the same time, because they wait for a shared call. */
const SMALL_BYTES = 256 * 1_024;

const CANCELLED = msg`Parsing was cancelled. Parse the document again when you want it.`;

/** Requests and cancels the parsing of documents. */
@Injectable()
export class ParsingQueue {
  constructor(
    private readonly database: Database,
    private readonly repository: ParsingRepository,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
  ) {}

  /**
   * Marks the documents as requested, in the open transaction if there is one, and enqueues a job for each after the
   * commit. Documents that are being parsed are skipped. Returns how many were marked.
   */
  async request(caller: Caller, attachments: readonly Pick<Attachment, 'id'>[]): Promise<number> {
    return this.database.transaction(async () => {
      const marked = await this.repository.request(
        caller,
        attachments.map(({ id }) => id),
      );
      for (const document of marked) {
        await this.database.afterCommit(() => this.announce(document));
      }
      return marked.length;
    });
  }

  /** Adds the job of a document that waits; only a hint, as every job. */
  async announce({ tenantId, id, byteSize }: WaitingDocument, options?: AddOptions): Promise<void> {
    const kind = byteSize <= SMALL_BYTES ? PARSE_JOB : PARSE_LARGE_JOB;
    const job = { id: String(id), data: { tenantId, attachmentId: id } };
    await this.queue.add(kind, job, options);
  }

  /** Fails the requested parsing with that reason; false when none was requested. */
  async cancel(caller: Caller, { id }: Pick<Attachment, 'id'>): Promise<boolean> {
    const ended = await this.repository.abandon(caller.tenantId, id, CANCELLED);
    if (ended) await this.notifyAbandoned(caller.tenantId, id);
    return ended;
  }

  /** Notifies the worker that may be parsing the document, after the commit. For documents that are deleted. */
  async notifyAbandoned(tenantId: string, attachmentId: number): Promise<void> {
    await this.database.afterCommit(() =>
      this.bus.publish('attachment.abandoned', { tenantId, attachmentId }),
    );
  }
}
