import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { systemCaller, TenantRevision, UserLifecycle } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Swept } from '../../platform/queue/index.js';
import { RetentionClasses } from '../../platform/retention/index.js';
import { FileOwners, isRefused, StorageService } from '../../platform/storage/index.js';
import type { OpenedFile, ReceivedFile, UploadedPart } from '../../platform/storage/index.js';
import { ParameterError } from '../answer/api.errors.js';
import { formNumber, parameters, plainText } from '../answer/parameters.js';
import type { ApiFile } from './api-file.entity.js';
import { FileQuotaError, UnknownFileError } from './api-file.errors.js';
import { ApiFileRepository } from './api-file.repository.js';
import type { FilePage } from './api-file.repository.js';

/** Owner kind of the stored files (FileOwners). */
const KIND = 'api-file';
const MIB = 2 ** 20;
/** Factor of the tenant's quota over a user's. */
const TENANT_SHARES = 10;
/** Maximum number of files per user. */
const MAX_FILES = 10_000;
const SWEPT_AT_ONCE = 100;

const DAY_SECONDS = 86_400;
/** Batch files are kept for 30 days, all others until they are deleted, as at OpenAI. */
const BATCH_FILE_SECONDS = 30 * DAY_SECONDS;

/** Supported values of FilePurpose of openai 7.57 (November 2026). Fine-tunes and evals are not supported. */
const PURPOSES = ['batch', 'user_data', 'vision', 'assistants'] as const;
export type FilePurpose = (typeof PURPOSES)[number] | 'batch_output';

/** Expiry of a file in OpenAI's format. */
export const expiresAfter = z.strictObject({
  anchor: z.literal('created_at'),
  seconds: formNumber(3_600, BATCH_FILE_SECONDS),
});

const uploadRequest = z.looseObject({
  purpose: plainText(50),
  expires_after: expiresAfter.optional(),
});

const messagesUpload = z.looseObject({
  expires_in_seconds: formNumber(3_600, BATCH_FILE_SECONDS).optional(),
});

const ID = /^file-[\da-f]{32}$/;

export function isFileId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}

interface FileToAdd {
  readonly purpose: FilePurpose;
  /** Undefined selects the default of the purpose. */
  readonly keptSeconds: number | undefined;
}

/** The files of /v1/files: uploads and batch results. Only their owner can access them. */
@Injectable()
export class ApiFiles {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: ApiFileRepository,
    private readonly storage: StorageService,
    private readonly database: Database,
    private readonly revision: TenantRevision,
    owners: FileOwners,
    users: UserLifecycle,
    retention: RetentionClasses,
  ) {
    owners.join(KIND, { readable: (caller, ids) => repository.ofStored(caller, ids) });
    users.join({ deleting: (userIds) => storage.removeOfUsers(userIds, KIND) });
    retention.join({
      recordClass: 'files',
      sweep: async (due) => this.discard(await repository.due(due, SWEPT_AT_ONCE)),
    });
  }

  /** Throws ParameterError, FileTooLargeError and FileQuotaError. */
  async upload(caller: Caller, body: unknown, received: readonly UploadedPart[]): Promise<ApiFile> {
    const { purpose, expires_after: expires } = parameters(uploadRequest, body);
    const supportedPurpose = PURPOSES.find((one) => one === purpose);
    if (!supportedPurpose) {
      throw new ParameterError(
        'purpose',
        msg`Files of the purpose ${purpose} are not supported. Send one of ${PURPOSES.join(', ')}.`,
      );
    }
    return this.receive(caller, received, {
      purpose: supportedPurpose,
      keptSeconds: expires?.seconds,
    });
  }

  /** Stores an upload of an Anthropic client, which sends no purpose. */
  async uploadForMessages(
    caller: Caller,
    body: unknown,
    received: readonly UploadedPart[],
  ): Promise<ApiFile> {
    const { expires_in_seconds: keptSeconds } = parameters(messagesUpload, body);
    return this.receive(caller, received, { purpose: 'user_data', keptSeconds });
  }

  /** Adds the record of a file that was stored, in the open transaction if there is one. No quota applies. */
  async add(
    owner: Caller,
    received: ReceivedFile,
    { purpose, keptSeconds }: FileToAdd,
  ): Promise<string> {
    return this.database.transaction(async () => {
      const stored = await this.storage.keep(owner, received, KIND);
      const id = `file-${randomUUID().replaceAll('-', '')}`;
      const isOfBatch = purpose === 'batch' || purpose === 'batch_output';
      await this.repository.insert(owner, {
        id,
        fileId: stored.id,
        purpose,
        fileName: stored.originalName,
        // The protocols expect the media type without its charset.
        mimeType: stored.mimeType.replace(/\s*;.*$/s, ''),
        byteSize: stored.byteSize,
        keptSeconds: keptSeconds ?? (isOfBatch ? BATCH_FILE_SECONDS : null),
      });
      return id;
    });
  }

  /** Throws UnknownFileError. */
  async get(caller: Caller, id: string): Promise<ApiFile> {
    const file = isFileId(id) ? await this.repository.find(caller, id) : null;
    const isOver = file?.expireTime && file.expireTime.getTime() <= Date.now();
    if (!file || isOver) throw new UnknownFileError(id.slice(0, 100));
    return file;
  }

  /** A page of files, and whether more follow. `after` is the last id of the previous page; throws ParameterError if it does not exist. */
  async page(
    caller: Caller,
    { after, ...page }: Omit<FilePage, 'after'> & { readonly after?: string | undefined },
    param: string,
  ): Promise<{ readonly files: readonly ApiFile[]; readonly hasMore: boolean }> {
    const last = after === undefined ? null : await this.repository.find(caller, after);
    if (after !== undefined && !last) {
      throw new ParameterError(
        param,
        msg`The parameter ${param} names no file of the list. Begin again with the first page.`,
      );
    }
    const pageQuery = { ...page, after: last?.number, limit: page.limit + 1 };
    const rows = await this.repository.page(caller, pageQuery);
    return { files: rows.slice(0, page.limit), hasMore: rows.length > page.limit };
  }

  /** Throws UnknownFileError. */
  async remove(caller: Caller, id: string): Promise<void> {
    const { fileId } = await this.get(caller, id);
    await this.storage.removeOwned(caller, [fileId]);
  }

  /** Throws UnknownFileError and ContentMissingError. The caller reads the content to the end or destroys it. */
  async open(caller: Caller, id: string): Promise<OpenedFile> {
    return this.contentOf(await this.get(caller, id));
  }

  /** The whole content of a file returned by `get`; the caller checks its `byteSize`. Fails like `open`. */
  async read(file: ApiFile): Promise<Buffer> {
    return buffer((await this.contentOf(file)).content);
  }

  private async contentOf({ tenantId, fileId, id }: ApiFile): Promise<OpenedFile> {
    try {
      return await this.storage.open(tenantId, fileId);
    } catch (error) {
      throw error instanceof NotFoundError ? new UnknownFileError(id) : error;
    }
  }

  /** Removes a batch of expired files. Returns whether none are left. */
  async sweep(): Promise<Swept> {
    return this.discard(await this.repository.expired(SWEPT_AT_ONCE));
  }

  private async discard(files: readonly Pick<ApiFile, 'tenantId' | 'fileId'>[]): Promise<Swept> {
    for (const { tenantId, fileId } of files) {
      await inTenant(tenantId, async () => {
        const system = systemCaller(tenantId, await this.revision.current(tenantId));
        await this.storage.removeOwned(system, [fileId]);
      });
    }
    return { removed: files.length, isDone: files.length < SWEPT_AT_ONCE };
  }

  private async receive(
    caller: Caller,
    received: readonly UploadedPart[],
    options: FileToAdd,
  ): Promise<ApiFile> {
    const [file, ...more] = received;
    if (!file) throw new ParameterError('file', msg`The parameter ${'file'} is required.`);
    if (more.length > 0) {
      throw new ParameterError('file', msg`The form has more than one file. Send one.`);
    }
    if (isRefused(file)) throw file.refusal;
    const id = await this.database.transaction(async () => {
      await this.requireQuota(caller, file.size);
      return this.add(caller, file, options);
    });
    return this.get(caller, id);
  }

  private async requireQuota(caller: Caller, bytes: number): Promise<void> {
    const ofUser = this.config.API_FILES_MB_PER_USER;
    const ofTenant = ofUser * TENANT_SHARES;
    const used = await this.repository.used(caller);
    if (used.userFiles >= MAX_FILES) throw new FileQuotaError('files', MAX_FILES);
    if (used.userBytes + bytes > ofUser * MIB) throw new FileQuotaError('user', ofUser);
    if (used.tenantBytes + bytes > ofTenant * MIB) throw new FileQuotaError('tenant', ofTenant);
  }
}
