import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { KnowledgeContents, KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { FileOwners } from '../platform/storage/index.js';
import { AttachRepository } from './attach.repository.js';
import { AttachService, FILE_KIND } from './attach.service.js';
import { AttachmentStatus } from './attachment.entity.js';
import { ParsingQueue } from './parsing/parsing.queue.js';

/** Answers the questions of knowledge bases and of the storage about documents. */
@Injectable()
export class AttachContents {
  constructor(
    contents: KnowledgeContents,
    files: FileOwners,
    private readonly knowledge: KnowledgeService,
    private readonly service: AttachService,
    private readonly attachments: AttachRepository,
    private readonly parsing: ParsingQueue,
  ) {
    contents.join({
      documentCounts: (tenantId, ids) => attachments.counts(tenantId, ids),
      isIndexed: (tenantId, id) => attachments.isIndexed(tenantId, id),
      reindex: (caller, base) => this.reindex(caller, base),
      holding: (tenantId, ids) => attachments.lockAllOf(tenantId, ids),
      deleting: (caller, base) => this.deleting(caller, base),
    });
    files.join(FILE_KIND, { readable: (caller, ids) => this.readableFiles(caller, ids) });
  }

  /** Documents that are being parsed have read the old settings already, so they start again, too. */
  private async reindex(caller: Caller, { id }: KnowledgeBase): Promise<void> {
    // All of them in the order of their ids before any is changed: a deletion of several takes them in that order.
    await this.attachments.lockAllOf(caller.tenantId, [id]);
    const attachments = await this.attachments.allOf(caller.tenantId, id);
    for (const attachment of attachments) {
      if (attachment.status === AttachmentStatus.parsing) {
        await this.parsing.cancel(caller, attachment);
      }
    }
    await this.parsing.request(caller, attachments);
  }

  private async deleting(caller: Caller, { id }: KnowledgeBase): Promise<void> {
    await this.service.releaseFiles(caller, await this.attachments.allOf(caller.tenantId, id));
  }

  private async readableFiles(
    caller: Caller,
    fileIds: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const bases = await this.attachments.basesOfFiles(caller.tenantId, fileIds);
    const readable = new Set(await this.knowledge.readableIds(caller));
    return new Set(
      [...bases].filter(([, knowledgeId]) => readable.has(knowledgeId)).map(([fileId]) => fileId),
    );
  }
}
