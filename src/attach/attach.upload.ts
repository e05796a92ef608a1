import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { DomainError } from '../platform/error/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { isRefused, UnreadableUploadError } from '../platform/storage/index.js';
import type { UploadedPart } from '../platform/storage/index.js';
import type { UploadBody } from './attach.dto.js';
import { UploadFailedError } from './attach.errors.js';
import type { UploadFailure } from './attach.errors.js';
import { AttachService } from './attach.service.js';
import type { UploadedAttachmentView } from './attach.view.js';

/** Takes the files of an upload, each for itself: one that is refused keeps no other from being stored. */
@Injectable()
export class AttachUpload {
  constructor(
    private readonly attachments: AttachService,
    private readonly knowledge: KnowledgeService,
  ) {}

  /** What became of each file, in their order; UploadFailedError with the same list if any was not stored. */
  async upload(
    caller: Caller,
    { knowledgeId, autoParse = false }: UploadBody,
    parts: readonly UploadedPart[],
  ): Promise<UploadedAttachmentView[]> {
    const knowledge = await this.knowledge.writable(caller, knowledgeId);
    if (parts.length === 0) throw new UnreadableUploadError('it holds no file');
    const views: UploadedAttachmentView[] = [];
    const failures: UploadFailure[] = [];
    for (const part of parts) {
      const { name } = part;
      try {
        views.push(await this.take(caller, knowledge, { part, autoParse }));
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        views.push({ name, error: error.message });
        failures.push({ name, error });
      }
    }
    const [first, ...others] = failures;
    if (first) throw new UploadFailedError([first, ...others], views);
    return views;
  }

  private async take(
    caller: Caller,
    knowledge: KnowledgeBase,
    { part, autoParse }: { readonly part: UploadedPart; readonly autoParse: boolean },
  ): Promise<UploadedAttachmentView> {
    if (isRefused(part)) throw part.refusal;
    const { id, name, status } = await this.attachments.create(caller, knowledge, part, {
      autoParse,
    });
    return { id, name, status };
  }
}
