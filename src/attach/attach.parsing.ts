import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { FragmentService } from '../fragment/index.js';
import { Answer, OK_MESSAGE } from '../platform/http/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { NothingToCancelError } from './attach.errors.js';
import { AttachRepository } from './attach.repository.js';
import { AttachService } from './attach.service.js';
import type { ReparseView } from './attach.view.js';
import { AttachmentStatus } from './attachment.entity.js';
import type { Attachment } from './attachment.entity.js';
import { ParsingService } from './parsing/parsing.service.js';

/** What users ask of the parsing of documents. It goes on by itself: an answer only says that it was asked for. */
@Injectable()
export class AttachParsing {
  constructor(
    private readonly service: AttachService,
    private readonly attachments: AttachRepository,
    private readonly knowledge: KnowledgeService,
    private readonly fragments: FragmentService,
    private readonly parsing: ParsingService,
  ) {}

  async parse(caller: Caller, id: number): Promise<Answer<null>> {
    const attachment = await this.service.writable(caller, id);
    const msg = await this.messageFor(caller, [attachment]);
    const marked = await this.parsing.request(caller, [attachment]);
    return new Answer(null, marked === 0 ? 'The document is being parsed already.' : msg);
  }

  /** Parses every document of the base anew; those that are being parsed are skipped. */
  async reparseAll(caller: Caller, knowledgeId: number): Promise<Answer<ReparseView>> {
    const { id } = await this.knowledge.writable(caller, knowledgeId);
    return this.request(caller, await this.attachments.allOf(caller.tenantId, id));
  }

  /** Parses those documents of the base anew whose parsing has failed. */
  async retryFailed(caller: Caller, knowledgeId: number): Promise<Answer<ReparseView>> {
    const { id } = await this.knowledge.writable(caller, knowledgeId);
    const { failed } = AttachmentStatus;
    return this.request(caller, await this.attachments.allOf(caller.tenantId, id, failed));
  }

  /** Ends what was asked for: the document is failed with that reason, and its old fragments stay. */
  async cancel(caller: Caller, id: number): Promise<void> {
    const attachment = await this.service.writable(caller, id);
    if (!(await this.parsing.cancel(caller, attachment))) throw new NothingToCancelError();
  }

  private async request(
    caller: Caller,
    attachments: readonly Attachment[],
  ): Promise<Answer<ReparseView>> {
    const msg = await this.messageFor(caller, attachments);
    const total = attachments.length;
    const submitted = await this.parsing.request(caller, attachments);
    return new Answer({ submitted, skipped: total - submitted, total }, msg);
  }

  /** Warns of what is lost: parsing replaces the fragments of a document as a set. */
  private async messageFor(caller: Caller, attachments: readonly Attachment[]): Promise<string> {
    const edited = await this.fragments.countEdited(
      caller.tenantId,
      attachments.map(({ id }) => id),
    );
    if (edited === 0) return OK_MESSAGE;
    const what =
      edited === 1
        ? '1 fragment that was written by hand is replaced.'
        : `${edited} fragments that were written by hand are replaced.`;
    return `${OK_MESSAGE} ${what}`;
  }
}
