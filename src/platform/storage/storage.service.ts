import { Inject, Injectable, Logger } from '@nestjs/common';
import { hostname } from 'node:os';
import type { Readable } from 'node:stream';
import type { Caller } from '../access/index.js';
import type { StoredFile } from './storage.entity.js';
import { msg } from '../message/index.js';
import { systemCaller, TenantLifecycle, TenantRevision } from '../access/index.js';
import { AuditLog } from '../audit/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Database, inTenant } from '../database/index.js';
import { NotFoundError } from '../error/index.js';
import { Page } from '../http/index.js';
import type { Swept } from '../queue/index.js';
import { RetentionClasses } from '../retention/index.js';
import type { DueRecords } from '../retention/index.js';
import { FileAddresses } from './file-address.js';
import { suffixOf } from './file-type.js';
import { FileStorage, isRefused } from './file-storage.js';
import type { ByteRange, ReceivedFile, UploadedPart } from './file-storage.js';
import { Installation } from './installation.js';
import { toStoredFileView, toUploadView } from './storage.dto.js';
import type { StoredFileListQuery, StoredFileView, UploadView } from './storage.dto.js';
import { ContentMissingError, FileInUseError, UnreadableUploadError } from './storage.errors.js';
import { StorageRepository } from './storage.repository.js';

/** Files of one batch of a sweep. */
const MAX_SWEPT_COUNT = 200;

/** A feature whose records have files: the file is readable exactly for those who may read the record. */
export interface FileOwner {
  /** The files among these that the caller may read. */
  readable(caller: Caller, fileIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** Declared here; features that keep files as parts of their records register themselves. */
@Injectable()
export class FileOwners {
  private readonly owners = new Map<string, FileOwner>();

  /** `kind` is the mark on the records of the files. */
  join(kind: string, owner: FileOwner): void {
    this.owners.set(kind, owner);
  }

  /** The files of the tenant that the caller may read; an independent file is readable for every user of the tenant. */
  async visible(caller: Caller, files: readonly StoredFile[]): Promise<StoredFile[]> {
    const readable = new Set<number>();
    for (const [kind, owner] of this.owners) {
      const ids = files.filter(({ belongsTo }) => belongsTo === kind).map(({ id }) => id);
      if (ids.length === 0) continue;
      for (const id of await owner.readable(caller, ids)) readable.add(id);
    }
    return files.filter(({ id, belongsTo }) => belongsTo === null || readable.has(id));
  }
}

/** A stored file as other features see it. */
export type StoredFileInfo = Pick<
  StoredFile,
  'id' | 'originalName' | 'fileSuffix' | 'mimeType' | 'byteSize' | 'sha256'
>;

/** The caller of `open` reads the content to the end or destroys it. */
export interface OpenedFile extends StoredFileInfo {
  readonly content: Readable;
}

/** Files and their records. A file of another tenant is answered as not found. */
@Injectable()
export class StorageService {
  private readonly logger = new Logger(StorageService.name);
  /** The name of this process for people. */
  private readonly processName: string;

  constructor(
    private readonly files: FileStorage,
    private readonly repository: StorageRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly owners: FileOwners,
    private readonly installation: Installation,
    private readonly addresses: FileAddresses,
    @Inject(CONFIG) config: Config,
    lifecycle: TenantLifecycle,
    private readonly revision: TenantRevision,
    retention: RetentionClasses,
  ) {
    this.processName = `${hostname()} (${config.ROLE}, process ${process.pid})`.slice(0, 200);
    lifecycle.join({ deleting: (tenantId) => this.tenantDeleting(tenantId) });
    retention.join({ recordClass: 'files', sweep: (due) => this.sweep(due) });
  }

  async list(caller: Caller, query: StoredFileListQuery): Promise<Page<StoredFileView>> {
    const page = await this.repository.page(caller.tenantId, query);
    return new Page(await this.viewsOf(caller.tenantId, page.rows), page.total);
  }

  /** The files that the caller may read, in the requested order. */
  async listByIds(caller: Caller, ids: readonly number[]): Promise<StoredFileView[]> {
    const files = await this.visible(caller, ids);
    const byId = new Map(files.map((file) => [file.id, file]));
    const sorted = ids.map((id) => byId.get(id)).filter((file) => file !== undefined);
    return this.viewsOf(caller.tenantId, sorted);
  }

  /** Stores the record of the one file of an upload. */
  async upload(caller: Caller, received: readonly UploadedPart[]): Promise<UploadView> {
    const [file, ...more] = received;
    if (!file || more.length > 0) {
      throw new UnreadableUploadError(
        file ? msg`it contains more than one file` : msg`it contains no file`,
      );
    }
    if (isRefused(file)) throw file.refusal;
    const { id } = await this.keep(caller, file);
    const stored = await this.repository.files.get(caller.tenantId, id);
    return toUploadView(stored, await this.addresses.of(stored));
  }

  /**
   * Inserts the record of a received file, in the open transaction if there is one; if that fails the file is removed.
   * With `belongsTo` it is part of a record of that kind (FileOwners). After a rollback call `discardUnrecorded`.
   */
  async keep(caller: Caller, file: ReceivedFile, belongsTo?: string): Promise<StoredFileInfo> {
    try {
      return await this.database.transaction(() => this.insert(caller, file, belongsTo));
    } catch (error) {
      await this.discard([file.storageKey]);
      throw error;
    }
  }

  /** Removes the received files that have no record. */
  async discardUnrecorded(received: readonly UploadedPart[]): Promise<void> {
    const keys = received.flatMap((part) => (isRefused(part) ? [] : [part.storageKey]));
    if (keys.length === 0) return;
    const storedKeys = await this.repository.recordedKeys(keys);
    await this.discard(keys.filter((key) => !storedKeys.has(key)));
  }

  /** A part of a received file, before or after it has a record. The caller reads it to the end or destroys it. */
  readReceived({ storageKey }: ReceivedFile, range: ByteRange): Promise<Readable> {
    return this.files.read(storageKey, range);
  }

  /** Like `open`, if the caller may read the file. */
  async openFor(caller: Caller, id: number): Promise<OpenedFile> {
    const [file] = await this.visible(caller, [id]);
    if (!file) throw new NotFoundError(msg`The file`);
    return this.open(caller.tenantId, id);
  }

  /** Makes addresses that open an image without a sign-in and do not expire, for the feature whose record it is part of. */
  permanentAddresses(): ReturnType<FileAddresses['permanent']> {
    return this.addresses.permanent();
  }

  /** The file of a signed address, without a check of a caller. */
  async openShared(token: string): Promise<OpenedFile> {
    const { tenantId, fileId } = await this.addresses.read(token);
    return inTenant(tenantId, () => this.open(tenantId, fileId));
  }

  /** A file of the tenant with its content; NotFoundError without a record, ContentMissingError without the content. */
  async open(tenantId: string, id: number): Promise<OpenedFile> {
    const file = await this.repository.files.get(tenantId, id);
    try {
      return { ...infoOf(file), content: await this.files.read(file.storageKey) };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ContentMissingError({ storedBy: file.storedBy, requestedBy: this.processName });
    }
  }

  /** A part of a file of the tenant. The caller reads it to the end or destroys it. */
  async openRange(tenantId: string, id: number, range: ByteRange): Promise<Readable> {
    const { storageKey } = await this.repository.files.get(tenantId, id);
    return this.files.read(storageKey, range);
  }

  /**
   * The caller's own uploads with these ids, in this order: independent files, and those that are part of records of the
   * kind. NotFoundError if one of them is not there, is another user's or part of another record.
   */
  async ownUploads(
    caller: Caller,
    ids: readonly number[],
    kind: string,
  ): Promise<StoredFileInfo[]> {
    const files = await this.repository.ofUploader(caller, ids, kind);
    const byId = new Map(files.map((file) => [file.id, infoOf(file)]));
    return ids.map((id) => {
      const file = byId.get(id);
      if (!file) throw new NotFoundError(msg`The file`);
      return file;
    });
  }

  /**
   * Makes uploads part of records of the kind (FileOwners) in the open transaction, which inserts such a record: from then
   * on they are in no list of files and cannot be deleted alone. NotFoundError if one was deleted meanwhile.
   */
  async claim({ tenantId }: Caller, ids: readonly number[], kind: string): Promise<void> {
    const claimed = await this.repository.claim(tenantId, ids, kind);
    if (claimed !== new Set(ids).size) throw new NotFoundError(msg`The file`);
  }

  /** Blocks `claim` of the files until the open transaction ends, in which who refers to them is looked up. */
  async lock({ tenantId }: Caller, ids: readonly number[]): Promise<void> {
    await this.repository.lock(tenantId, ids);
  }

  /** Deletes the files of the kind that the users have uploaded, in every tenant, in the transaction that deletes them. */
  async removeOfUsers(userIds: readonly number[], kind: string): Promise<void> {
    await this.discardAfterCommit(await this.repository.removeOfUsers(userIds, kind));
  }

  /** Deletes independent files: all of them or, when one cannot be deleted, none. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const files = await this.visible(caller, ids);
    if (files.length !== new Set(ids).size) throw new NotFoundError(msg`The file`);
    if (files.some(({ belongsTo }) => belongsTo !== null)) throw new FileInUseError();
    await this.erase(caller, files);
  }

  /** Deletes files for the feature whose records they are part of; missing ones are ignored. */
  async removeOwned(caller: Caller, ids: readonly number[]): Promise<void> {
    const files = await this.repository.find(caller.tenantId, ids);
    if (files.length > 0) await this.erase(caller, files);
  }

  /** Deletes a batch of independent files whose retention has ended. */
  private async sweep(due: DueRecords): Promise<Swept> {
    const { tenantId } = due;
    const ids = await this.repository.due(due, MAX_SWEPT_COUNT);
    await this.removeOwned(systemCaller(tenantId, await this.revision.current(tenantId)), ids);
    return { removed: ids.length, isDone: ids.length < MAX_SWEPT_COUNT };
  }

  /** Deletes records and, after the commit, the files. */
  private async erase(caller: Caller, files: readonly StoredFile[]): Promise<void> {
    const ids = files.map(({ id }) => id);
    await this.database.transaction(async () => {
      await this.repository.files.remove(caller.tenantId, ids);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'file', id });
      }
      await this.discardAfterCommit(files.map((file) => file.storageKey));
    });
  }

  private async visible(caller: Caller, ids: readonly number[]): Promise<StoredFile[]> {
    return this.owners.visible(caller, await this.repository.find(caller.tenantId, ids));
  }

  private async insert(
    caller: Caller,
    received: ReceivedFile,
    belongsTo: string | undefined,
  ): Promise<StoredFileInfo> {
    const { storageKey, name, mimeType, size: byteSize, sha256 } = received;
    const file = await this.repository.files.insert(caller.tenantId, {
      // The service itself (systemCaller) is not a user.
      userId: caller.userId || null,
      storageKey,
      originalName: name,
      fileSuffix: suffixOf(name).toLowerCase(),
      mimeType,
      byteSize,
      sha256,
      service: this.files.service,
      belongsTo: belongsTo ?? null,
      storedBy: this.processName,
    });
    await this.audit.record(caller, {
      action: 'upload',
      target: 'file',
      id: file.id,
      detail: { byteSize, sha256 },
    });
    return infoOf(file);
  }

  private async tenantDeleting(tenantId: string): Promise<void> {
    await this.discardAfterCommit(await this.repository.keysOf(tenantId));
  }

  private async discardAfterCommit(keys: readonly string[]): Promise<void> {
    await this.database.afterCommit(() => this.discard(keys));
  }

  /**
   * Removes contents whose record is gone, or sets them aside while they may be another database's. The orphan sweep retries
   * failures, so they are not reported to the caller.
   */
  private async discard(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    try {
      const isOwn = (await this.installation.uncertainty()) === undefined;
      for (const key of keys) await (isOwn ? this.files.remove(key) : this.files.quarantine(key));
    } catch (error) {
      this.logger.warn({ msg: 'Failed to remove files', keys, err: error });
    }
  }

  private async viewsOf(tenantId: string, files: readonly StoredFile[]): Promise<StoredFileView[]> {
    const names = await this.namesOf(tenantId, files);
    return Promise.all(
      files.map(async (file) => toStoredFileView(file, await this.addresses.of(file), names)),
    );
  }

  private async namesOf(
    tenantId: string,
    files: readonly StoredFile[],
  ): Promise<Map<number, string>> {
    const ids = new Set(files.map((file) => file.userId).filter((id) => id !== null));
    return ids.size === 0 ? new Map() : this.repository.userNames(tenantId, [...ids]);
  }
}

function infoOf({
  id,
  originalName,
  fileSuffix,
  mimeType,
  byteSize,
  sha256,
}: StoredFile): StoredFileInfo {
  return { id, originalName, fileSuffix, mimeType, byteSize, sha256 };
}
