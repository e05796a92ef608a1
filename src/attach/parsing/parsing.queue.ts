import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/event/index.js';
import { JobQueue } from '../../platform/queue/index.js';
import type { Attachment } from '../attachment.entity.js';
import { ParsingRepository } from './parsing.repository.js';

/** The kind of a parsing job. */
export const PARSE_JOB = 'attachment.parse';

const CANCELLED = 'Parsing was cancelled. Parse the document again when you want it.';

/** Asks for the parsing of documents and calls it off. */
@Injectable()
export class ParsingQueue {
  constructor(
    private readonly database: Database,
    private readonly repository: ParsingRepository,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
  ) {}

  /**
   * Marks the documents as asked for, joining an open transaction, and tells the workers once that is committed. Those
   * that are being parsed are left alone. Answers how many were marked.
   */
  async request(caller: Caller, attachments: readonly Pick<Attachment, 'id'>[]): Promise<number> {
    return this.database.transaction(async () => {
      const ids = await this.repository.request(
        caller,
        attachments.map(({ id }) => id),
      );
      for (const id of ids) {
        const data = { tenantId: caller.tenantId, attachmentId: id };
        await this.database.afterCommit(() => this.queue.add(PARSE_JOB, { id: String(id), data }));
      }
      return ids.length;
    });
  }

  /** Ends what was asked for as failed with that reason, at once and for good; false when nothing was asked for. */
  async cancel(caller: Caller, { id }: Pick<Attachment, 'id'>): Promise<boolean> {
    const ended = await this.repository.abandon(caller.tenantId, id, CANCELLED);
    if (ended) await this.abandoned(caller.tenantId, id);
    return ended;
  }

  /** Tells the worker that may be at it, once the open transaction is committed. For documents that are deleted. */
  async abandoned(tenantId: string, attachmentId: number): Promise<void> {
    await this.database.afterCommit(() =>
      this.bus.publish('attachment.abandoned', { tenantId, attachmentId }),
    );
  }
}
