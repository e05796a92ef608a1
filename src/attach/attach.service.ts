import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database, isForeignKeyViolation, isUniqueViolation } from '../platform/database/index.js';
import { DomainError, InvalidInputError, NotFoundError } from '../platform/error/index.js';
import { FragmentService, randomName } from '../fragment/index.js';
import { Grants, readReaders } from '../grant/index.js';
import { Answer, isBlank, localized, OK_MESSAGE } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { isOfSession, KnowledgeContents, KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { MetadataRepository, readMetadata, readMetadataText } from '../metadata/index.js';
import type { StoredMetadata } from '../metadata/index.js';
import {
  displayName,
  FILES_A_REQUEST,
  FileOwners,
  isRefused,
  StorageService,
  suffixOf,
  UnreadableUploadError,
  UploadEngine,
} from '../platform/storage/index.js';
import type {
  OpenedFile,
  ReceivedFile,
  StoredFileInfo,
  UploadedPart,
} from '../platform/storage/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type {
  AttachListQuery,
  CreateAttachmentBody,
  MetadataBody,
  UpdateAttachmentBody,
  UploadBody,
} from './attach.dto.js';
import {
  DuplicateUploadError,
  NothingToCancelError,
  RefusedFileError,
  UploadFailedError,
} from './attach.errors.js';
import type { UploadFailure } from './attach.errors.js';
import { AttachRepository } from './attach.repository.js';
import { toAttachmentView } from './attach.view.js';
import type {
  AttachmentView,
  MetadataKeyView,
  ReparseView,
  UploadedAttachmentView,
  UploadLimitsView,
} from './attach.view.js';
import { AttachmentStatus } from './attachment.entity.js';
import type { Attachment } from './attachment.entity.js';
import { openStoredZip, refusalOf } from './parser/index.js';
import { LostVectors } from './parsing/lost-vectors.js';
import { ParsingQueue } from './parsing/parsing.queue.js';

const LABEL = msg`The document`;

/** Kind that marks the files of documents in the storage. */
const FILE_KIND = 'attachment';

/** State of the parsing of a document. `reason` says why it failed or what it waits for. */
export interface ParsingState {
  readonly state: 'waiting' | 'parsed' | 'failed';
  readonly reason: Message | null;
}

/** Options of a document that is created from a received file. */
interface CreateOptions {
  readonly autoParse: boolean;
  readonly metadata?: StoredMetadata | undefined;
  readonly readers?: readonly string[] | undefined;
  readonly remark?: string | undefined;
  /** The source that has put it, and its id there. */
  readonly origin?: Pick<Attachment, 'sourceId' | 'externalId'>;
}

/** The index that stands behind "one file once per knowledge base" when two uploads race. */
const HASH_INDEX = 'attachment_hash';

/**
 * Documents of knowledge bases. Who may reach one is decided by its base and, if it has one, by its list of readers. Answers
 * the questions of knowledge bases and of the storage about them, too.
 */
@Injectable()
export class AttachService {
  constructor(
    private readonly attachments: AttachRepository,
    private readonly knowledge: KnowledgeService,
    private readonly fragments: FragmentService,
    private readonly storage: StorageService,
    private readonly uploads: UploadEngine,
    private readonly parsing: ParsingQueue,
    private readonly metadata: MetadataRepository,
    private readonly lost: LostVectors,
    private readonly grants: Grants,
    private readonly database: Database,
    private readonly audit: AuditLog,
    contents: KnowledgeContents,
    files: FileOwners,
  ) {
    contents.join({
      documentCounts: (caller, ids) => attachments.counts(caller, ids),
      isIndexed: (tenantId, id) => attachments.isIndexed(tenantId, id),
      reindex: (caller, base) => this.reindex(caller, base),
      holding: (tenantId, ids) => attachments.lockAllOf(tenantId, ids),
      deleting: (caller, base) => this.deleting(caller, base),
    });
    files.join(FILE_KIND, { readable: (caller, ids) => this.readableFiles(caller, ids) });
  }

  uploadLimits(): UploadLimitsView {
    return { fileBytes: this.uploads.limitBytes, filesPerRequest: FILES_A_REQUEST };
  }

  /** Documents of the knowledge bases that the caller may read. */
  async list(
    caller: Caller,
    { knowledgeId, ...query }: AttachListQuery,
  ): Promise<Page<AttachmentView>> {
    const readable = await this.knowledge.readableIds(caller);
    const ids =
      knowledgeId === undefined ? readable : readable.filter((one) => one === knowledgeId);
    const page = await this.attachments.page(caller, ids, query);
    const ahead = await this.ahead(caller.tenantId, page.rows);
    return page.map((attachment) => toAttachmentView(attachment, ahead.get(attachment.id)));
  }

  async get(caller: Caller, id: number): Promise<AttachmentView> {
    const attachment = await this.readable(caller, id);
    const ahead = await this.ahead(caller.tenantId, [attachment]);
    return toAttachmentView(attachment, ahead.get(id));
  }

  /** The document, if the caller may read its knowledge base and it has no list of readers without them. */
  async readable(caller: Caller, id: number): Promise<Attachment> {
    const attachment = await this.attachments.readable(caller, id);
    await this.knowledge.readable(caller, attachment.knowledgeId, LABEL);
    return attachment;
  }

  /** The document, if the caller may change its knowledge base. */
  async writable(caller: Caller, id: number): Promise<Attachment> {
    const attachment = await this.attachments.readable(caller, id);
    await this.knowledge.writable(caller, attachment.knowledgeId, LABEL);
    return attachment;
  }

  /** The source file under the name that the document has now. */
  async open(caller: Caller, id: number): Promise<OpenedFile> {
    const { ossId, name } = await this.readable(caller, id);
    if (ossId === null) throw new NotFoundError(msg`The file`);
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
    { autoParse, readers, ...fields }: CreateOptions,
  ): Promise<Attachment> {
    try {
      await this.requireDocument(knowledge, received);
      return await this.database.transaction(async () => {
        const attachment = await this.insert(caller, knowledge, { ...received, ...fields });
        if (readers) await this.grants.setReaders(caller, attachment.id, readers);
        if (autoParse) await this.parsing.request(caller, [attachment]);
        return attachment;
      });
    } catch (error) {
      await this.storage.discardUnrecorded([received]);
      if (isUniqueViolation(error, HASH_INDEX)) throw new DuplicateUploadError();
      if (isForeignKeyViolation(error)) throw new NotFoundError(msg`The knowledge base`);
      throw error;
    }
  }

  /** Throws RefusedFileError for a file that cannot become a document of the base. */
  async requireDocument(knowledge: KnowledgeBase, received: ReceivedFile): Promise<void> {
    const openZip = () =>
      openStoredZip(received.size, (range) => this.storage.readReceived(received, range));
    const recognition = knowledge.enableOcr === 1;
    const refusal = await refusalOf({ ...received, openZip, recognition });
    if (refusal !== undefined) throw new RefusedFileError(refusal);
  }

  /**
   * Gives a document another file and requests its parsing; its former text is searched until that has ended. Call it in a
   * transaction that has locked the base, after `requireDocument`.
   */
  async replaceFile(caller: Caller, id: number, received: ReceivedFile): Promise<void> {
    const { tenantId } = caller;
    const [before] = await this.attachments.lock(tenantId, [id]);
    if (!before) throw new NotFoundError(LABEL);
    await this.parsing.cancel(caller, before);
    const { name, sha256: fileHash, size: byteSize } = received;
    const file = await this.storage.keep(caller, received, FILE_KIND);
    if (before.ossId !== null) await this.storage.removeOwned(caller, [before.ossId]);
    const change = { ossId: file.id, fileHash, name, type: file.fileSuffix, byteSize };
    await this.attachments.attachments.update(tenantId, id, change);
    await this.parsing.request(caller, [before]);
    await this.audit.record(caller, { action: 'upload', target: 'attachment', id });
  }

  /**
   * Makes a stored file a document of the knowledge base and requests its parsing; one that the base has already is parsed
   * again only if that has failed. The file stays part of the record that it belongs to. Answers the id of the document.
   */
  async add(
    caller: Caller,
    { id: knowledgeId }: KnowledgeBase,
    file: StoredFileInfo,
  ): Promise<number> {
    const { tenantId } = caller;
    return this.database.transaction(async () => {
      const existing = await this.attachments.byHash(tenantId, knowledgeId, file.sha256);
      const attachment =
        existing ??
        (await this.attachments.insert(tenantId, {
          knowledgeId,
          userId: caller.userId || null,
          docId: randomName(),
          ossId: file.id,
          fileHash: file.sha256,
          name: file.originalName,
          type: file.fileSuffix,
          byteSize: file.byteSize,
        }));
      const { failed } = AttachmentStatus;
      if (!existing || existing.status === failed) await this.parsing.request(caller, [attachment]);
      return attachment.id;
    });
  }

  /** The document of the base with this content, if there is one. */
  async withContent(
    { tenantId, id }: Pick<KnowledgeBase, 'tenantId' | 'id'>,
    sha256: string,
  ): Promise<number | undefined> {
    return (await this.attachments.byHash(tenantId, id, sha256))?.id;
  }

  /** Parsing state of each document; deleted ones are missing. */
  async parsingStates(
    tenantId: string,
    ids: readonly number[],
  ): Promise<ReadonlyMap<number, ParsingState>> {
    const attachments = await this.attachments.find(tenantId, ids);
    return new Map(attachments.map((attachment) => [attachment.id, parsingState(attachment)]));
  }

  /** Stores each file separately. Returns the outcomes in order; UploadFailedError with the same list if any failed. */
  async upload(
    caller: Caller,
    { knowledgeId, autoParse = false, metadata: metadataText, readers: readersText }: UploadBody,
    parts: readonly UploadedPart[],
  ): Promise<UploadedAttachmentView[]> {
    const knowledge = await this.knowledge.writable(caller, knowledgeId);
    const metadata = readMetadataText(metadataText);
    const readers = readReaders(readersText);
    if (readers) await this.grants.requireReaders(caller, readers);
    if (parts.length === 0) throw new UnreadableUploadError(msg`it holds no file`);
    const views: UploadedAttachmentView[] = [];
    const failures: UploadFailure[] = [];
    for (const part of parts) {
      const { name } = part;
      try {
        if (isRefused(part)) throw part.refusal;
        const created = await this.create(caller, knowledge, part, {
          autoParse,
          metadata,
          readers,
        });
        views.push({ id: created.id, name: created.name, status: created.status });
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        views.push({ name, error: localized(error.userMessage) });
        failures.push({ name, error });
      }
    }
    const [first, ...others] = failures;
    if (first) throw new UploadFailedError([first, ...others], views);
    return views;
  }

  /** Makes an HTML text a document of the knowledge base, as an upload of it would be, and requests its parsing. */
  async write(
    caller: Caller,
    { knowledgeId, name, content = '', remark }: CreateAttachmentBody,
  ): Promise<AttachmentView> {
    const knowledge = await this.knowledge.writable(caller, knowledgeId);
    if (isBlank(name)) throw new InvalidInputError(msg`name must not be empty.`);
    if (isBlank(content)) {
      throw new InvalidInputError(
        msg`content is required: the text of the document. A document that is a file begins with an upload.`,
      );
    }
    const source = Readable.from([Buffer.from(content)]);
    const fileName = withSuffix(name, '.html');
    const received = await this.uploads.receive(source, fileName, new AbortController().signal);
    if (isRefused(received)) throw received.refusal;
    const { id } = await this.create(caller, knowledge, received, { autoParse: true, remark });
    return this.get(caller, id);
  }

  async update(caller: Caller, body: UpdateAttachmentBody): Promise<void> {
    const { id, name, remark } = body;
    if (name !== undefined && isBlank(name))
      throw new InvalidInputError(msg`name must not be empty.`);
    const before = await this.writable(caller, id);
    const isNew = name !== undefined && name !== before.name;
    // A form that shows the reason of a failure as the remark sends it back.
    const isFailure = before.failure !== null && remark === localized(before.failure);
    const change = {
      name: isNew ? withSuffix(name, before.type) : undefined,
      remark: isFailure ? undefined : remark,
    };
    await this.database.transaction(async () => {
      await this.attachments.attachments.update(caller.tenantId, id, change);
      await this.audit.record(caller, { action: 'update', target: 'attachment', id });
    });
  }

  /** Replaces the metadata of the document. Searches see it at once: nothing is parsed again. */
  async updateMetadata(caller: Caller, id: number, body: MetadataBody): Promise<AttachmentView> {
    const metadata = readMetadata(body.metadata);
    await this.writable(caller, id);
    await this.database.transaction(async () => {
      await this.attachments.attachments.update(caller.tenantId, id, { metadata });
      const detail = { metadata: Object.keys(metadata) };
      await this.audit.record(caller, { action: 'update', target: 'attachment', id, detail });
    });
    return this.get(caller, id);
  }

  /** The keys of metadata that the documents of the base have. */
  async metadataKeys(caller: Caller, knowledgeId: number): Promise<MetadataKeyView[]> {
    const { id } = await this.knowledge.readable(caller, knowledgeId);
    return this.metadata.keys(caller, [{ id }]);
  }

  /** Requests the parsing of the document, which runs in the background. */
  async parse(caller: Caller, id: number): Promise<Answer<null>> {
    const attachment = await this.writable(caller, id);
    const message = await this.messageFor(caller, [attachment]);
    const marked = await this.parsing.request(caller, [attachment]);
    return new Answer(null, marked === 0 ? msg`The document is being parsed already.` : message);
  }

  /** Parses every document of the base again; those that are being parsed are skipped. */
  async reparseAll(caller: Caller, knowledgeId: number): Promise<Answer<ReparseView>> {
    const { id } = await this.knowledge.writable(caller, knowledgeId);
    return this.reparse(caller, await this.attachments.allOf(caller.tenantId, id));
  }

  /** Parses again those documents of the base whose parsing has failed. */
  async retryFailed(caller: Caller, knowledgeId: number): Promise<Answer<ReparseView>> {
    const { id } = await this.knowledge.writable(caller, knowledgeId);
    const { failed } = AttachmentStatus;
    return this.reparse(caller, await this.attachments.allOf(caller.tenantId, id, failed));
  }

  /** Cancels the parsing: the document is failed with that reason, and its old fragments stay. */
  async cancel(caller: Caller, id: number): Promise<void> {
    const attachment = await this.writable(caller, id);
    if (!(await this.parsing.cancel(caller, attachment))) throw new NothingToCancelError();
  }

  /** Deletes documents with fragments, vectors and files, all of them or, when one cannot be, none. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    for (const id of ids) await this.writable(caller, id);
    await this.removeAll(caller, ids, (attachments) => this.releaseFiles(caller, attachments));
  }

  /** Deletes documents of chat sessions that `add` has made; their files belong to messages. */
  async removeOfSession(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    const documents = await this.attachments.find(tenantId, ids);
    if (documents.length === 0) return;
    for (const { id } of documents) await this.readable(caller, id);
    const existing = documents.map(({ id }) => id);
    await this.removeAll(caller, existing, (attachments) => this.abandon(caller, attachments));
  }

  private async removeAll(
    caller: Caller,
    ids: readonly number[],
    release: (attachments: readonly Attachment[]) => Promise<void>,
  ): Promise<void> {
    const { tenantId } = caller;
    await this.database.longTransaction(async () => {
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
      await release(attachments);
      await this.attachments.attachments.remove(tenantId, ids);
      for (const { id: knowledgeId, vectorsLostAt } of byId.values()) {
        const scope = { tenantId, knowledgeId };
        if (vectorsLostAt) await this.database.afterCommit(() => this.lost.clear(scope));
      }
    });
  }

  /** Removes the files of documents that are about to be deleted, and cancels their parsing. */
  async releaseFiles(caller: Caller, attachments: readonly Attachment[]): Promise<void> {
    const fileIds = attachments.map(({ ossId }) => ossId).filter((id) => id !== null);
    await this.storage.removeOwned(caller, fileIds);
    await this.abandon(caller, attachments);
  }

  /** Cancels the parsing of documents that are about to be deleted. */
  private async abandon(caller: Caller, attachments: readonly Attachment[]): Promise<void> {
    for (const { id, parseRequested } of attachments) {
      if (parseRequested) await this.parsing.notifyAbandoned(caller.tenantId, id);
    }
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

  /** The files of a chat session belong to its messages. */
  private async deleting(caller: Caller, knowledge: KnowledgeBase): Promise<void> {
    const attachments = await this.attachments.allOf(caller.tenantId, knowledge.id);
    if (isOfSession(knowledge)) await this.abandon(caller, attachments);
    else await this.releaseFiles(caller, attachments);
  }

  private async readableFiles(
    caller: Caller,
    fileIds: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const bases = await this.attachments.basesOfFiles(caller, fileIds);
    const readable = new Set(await this.knowledge.readableIds(caller));
    return new Set(
      [...bases].filter(([, knowledgeId]) => readable.has(knowledgeId)).map(([fileId]) => fileId),
    );
  }

  private async insert(
    caller: Caller,
    knowledge: KnowledgeBase,
    {
      metadata,
      remark,
      origin,
      ...received
    }: ReceivedFile & Pick<CreateOptions, 'metadata' | 'remark' | 'origin'>,
  ): Promise<Attachment> {
    const { tenantId } = caller;
    const { sha256: fileHash, size: byteSize, name } = received;
    const existing = origin
      ? null
      : await this.attachments.byHash(tenantId, knowledge.id, fileHash);
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
      metadata,
      remark,
      ...origin,
    });
    const { id } = attachment;
    const detail = { knowledgeId: knowledge.id };
    await this.audit.record(caller, { action: 'upload', target: 'attachment', id, detail });
    return attachment;
  }

  private async reparse(
    caller: Caller,
    attachments: readonly Attachment[],
  ): Promise<Answer<ReparseView>> {
    const message = await this.messageFor(caller, attachments);
    const total = attachments.length;
    const submitted = await this.parsing.request(caller, attachments);
    return new Answer({ submitted, skipped: total - submitted, total }, message);
  }

  /** Warns of what is lost: parsing replaces the fragments of a document as a set. */
  private async messageFor(caller: Caller, attachments: readonly Attachment[]): Promise<Message> {
    const edited = await this.fragments.countEdited(
      caller.tenantId,
      attachments.map(({ id }) => id),
    );
    if (edited === 0) return OK_MESSAGE;
    const what =
      edited === 1
        ? msg`1 fragment that was written by hand is replaced.`
        : msg`${edited} fragments that were written by hand are replaced.`;
    return sentences([OK_MESSAGE, what]);
  }

  /** Number of documents ahead of each one that waits for parsing. */
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

function parsingState({ status, failure, waitingFor }: Attachment): ParsingState {
  if (status === AttachmentStatus.failed) return { state: 'failed', reason: failure };
  const isParsed = status === AttachmentStatus.parsed;
  return { state: isParsed ? 'parsed' : 'waiting', reason: waitingFor };
}

/**
 * The parser goes by the suffix, so a new name cannot make a document another kind of file. A slash, as in "Terms
 * 2025/2026", ends no folder.
 */
function withSuffix(originalName: string, suffix: string): string {
  const name = displayName(originalName.replaceAll(/[\\/]/g, '_'));
  return suffixOf(name).toLowerCase() === suffix ? name : displayName(name + suffix);
}
