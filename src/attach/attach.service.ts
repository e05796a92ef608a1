import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database, isForeignKeyViolation, isUniqueViolation } from '../platform/database/index.js';
import { InvalidInputError, NotFoundError } from '../platform/error/index.js';
import { FragmentService, randomName } from '../fragment/index.js';
import type { Page } from '../platform/http/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { displayName, StorageService, suffixOf } from '../platform/storage/index.js';
import type { OpenedFile, ReceivedFile } from '../platform/storage/index.js';
import type { AttachListQuery, UpdateAttachmentBody } from './attach.dto.js';
import { DuplicateUploadError, RefusedFileError } from './attach.errors.js';
import { AttachRepository } from './attach.repository.js';
import { toAttachmentView } from './attach.view.js';
import type { AttachmentView } from './attach.view.js';
import { AttachmentStatus } from './attachment.entity.js';
import type { Attachment } from './attachment.entity.js';
import { refusalOf } from './parser/index.js';
import { ParsingService } from './parsing/parsing.service.js';

const LABEL = 'The document';

/** What the files of documents are marked with in the storage. */
export const FILE_KIND = 'attachment';

/** The index that stands behind "one file once per knowledge base" when two uploads race. */
const HASH_INDEX = 'attachment_hash';

/** Documents of knowledge bases. Who may reach one is decided by its base alone. */
@Injectable()
export class AttachService {
  constructor(
    private readonly attachments: AttachRepository,
    private readonly knowledge: KnowledgeService,
    private readonly fragments: FragmentService,
    private readonly storage: StorageService,
    private readonly parsing: ParsingService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Documents of the knowledge bases that the caller may read. */
  async list(
    caller: Caller,
    { knowledgeId, ...query }: AttachListQuery,
  ): Promise<Page<AttachmentView>> {
    const { tenantId } = caller;
    const readable = await this.knowledge.readableIds(caller);
    const ids =
      knowledgeId === undefined ? readable : readable.filter((one) => one === knowledgeId);
    const page = await this.attachments.page(tenantId, ids, query);
    const ahead = await this.ahead(tenantId, page.rows);
    return page.map((attachment) => toAttachmentView(attachment, ahead.get(attachment.id)));
  }

  async get(caller: Caller, id: number): Promise<AttachmentView> {
    const attachment = await this.readable(caller, id);
    const ahead = await this.ahead(caller.tenantId, [attachment]);
    return toAttachmentView(attachment, ahead.get(id));
  }

  /** The document, if the caller may read its knowledge base. */
  async readable(caller: Caller, id: number): Promise<Attachment> {
    const attachment = await this.attachments.get(caller.tenantId, id);
    await this.knowledge.readable(caller, attachment.knowledgeId, LABEL);
    return attachment;
  }

  /** The document, if the caller may change its knowledge base. */
  async writable(caller: Caller, id: number): Promise<Attachment> {
    const attachment = await this.attachments.get(caller.tenantId, id);
    await this.knowledge.writable(caller, attachment.knowledgeId, LABEL);
    return attachment;
  }

  /** The source file under the name that the document has now. */
  async open(caller: Caller, id: number): Promise<OpenedFile> {
    const { ossId, name } = await this.readable(caller, id);
    if (ossId === null) throw new NotFoundError('The file');
    return { ...(await this.storage.open(caller.tenantId, ossId)), originalName: name };
  }

  /**
   * Makes a received file a document of the knowledge base, which the caller may change. When it cannot become one
   * (a type that cannot be read, a duplicate) the file is removed.
   */
  async create(
    caller: Caller,
    knowledge: KnowledgeBase,
    received: ReceivedFile,
    { autoParse }: { readonly autoParse: boolean },
  ): Promise<Attachment> {
    try {
      const refusal = refusalOf(received);
      if (refusal !== undefined) throw new RefusedFileError(refusal);
      return await this.database.transaction(async () => {
        const attachment = await this.insert(caller, knowledge, received);
        if (autoParse) await this.parsing.request(caller, [attachment]);
        return attachment;
      });
    } catch (error) {
      await this.storage.discardUnrecorded([received]);
      if (isUniqueViolation(error, HASH_INDEX)) throw new DuplicateUploadError();
      if (isForeignKeyViolation(error)) throw new NotFoundError('The knowledge base');
      throw error;
    }
  }

  async update(caller: Caller, body: UpdateAttachmentBody): Promise<void> {
    const { id, name, remark } = body;
    if (name?.trim() === '') throw new InvalidInputError('name must not be empty.');
    const before = await this.writable(caller, id);
    const isNew = name !== undefined && name !== before.name;
    const change = { name: isNew ? withSuffix(name, before.type) : undefined, remark };
    await this.database.transaction(async () => {
      await this.attachments.update(caller.tenantId, id, change);
      await this.audit.record(caller, { action: 'update', target: 'attachment', id });
    });
  }

  /** Deletes documents with fragments, vectors and files, all of them or, when one cannot be, none. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    for (const id of ids) await this.writable(caller, id);
    await this.database.transaction(async () => {
      const attachments = await this.attachments.lock(tenantId, ids);
      await this.fragments.hold(tenantId, ids);
      const bases = await this.knowledge.ofTenant(
        tenantId,
        attachments.map(({ knowledgeId }) => knowledgeId),
      );
      const byId = new Map(bases.map((base) => [base.id, base]));
      for (const { id, knowledgeId } of attachments) {
        const base = byId.get(knowledgeId);
        if (base) await this.fragments.removeOf(base, id);
        await this.audit.record(caller, { action: 'delete', target: 'attachment', id });
      }
      await this.letGo(caller, attachments);
      await this.attachments.remove(tenantId, ids);
    });
  }

  /** Removes the files of documents that are about to be deleted, and calls their parsing off. */
  async letGo(caller: Caller, attachments: readonly Attachment[]): Promise<void> {
    const fileIds = attachments.map(({ ossId }) => ossId).filter((id) => id !== null);
    await this.storage.removeOwned(caller, fileIds);
    for (const { id, parseRequested } of attachments) {
      if (parseRequested) await this.parsing.abandoned(caller.tenantId, id);
    }
  }

  private async insert(
    caller: Caller,
    knowledge: KnowledgeBase,
    received: ReceivedFile,
  ): Promise<Attachment> {
    const { tenantId } = caller;
    const { sha256: fileHash, size: byteSize, name } = received;
    const existing = await this.attachments.byHash(tenantId, knowledge.id, fileHash);
    if (existing) throw new DuplicateUploadError(existing.name);
    const file = await this.storage.keep(caller, received, FILE_KIND);
    const attachment = await this.attachments.insert(tenantId, {
      knowledgeId: knowledge.id,
      // The service itself (systemCaller) is no user.
      userId: caller.userId || null,
      docId: randomName(),
      ossId: file.id,
      fileHash,
      name,
      type: file.fileSuffix,
      byteSize,
    });
    const { id } = attachment;
    const detail = { knowledgeId: knowledge.id };
    await this.audit.record(caller, { action: 'upload', target: 'attachment', id, detail });
    return attachment;
  }

  /** Of those that wait to be parsed: how many documents are before them. */
  private async ahead(
    tenantId: string,
    attachments: readonly Attachment[],
  ): Promise<ReadonlyMap<number, number>> {
    const waiting = attachments.filter(
      ({ status, parseRequested }) => parseRequested && status === AttachmentStatus.pending,
    );
    if (waiting.length === 0) return new Map();
    return this.attachments.ahead(
      tenantId,
      waiting.map(({ id }) => id),
    );
  }
}

/** The parser goes by the suffix, so a new name cannot make a document another kind of file. */
function withSuffix(given: string, suffix: string): string {
  const name = displayName(given);
  return suffixOf(name).toLowerCase() === suffix ? name : displayName(name + suffix);
}
