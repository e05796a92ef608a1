import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { mayAny } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { DomainError, ForbiddenError, NotFoundError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { JobQueue, requireTimes } from '../platform/queue/index.js';
import { isRefused, StorageService, suffixOf, UploadEngine } from '../platform/storage/index.js';
import type { ReceivedFile, UploadedPart } from '../platform/storage/index.js';
import { AttachService } from '../attach/index.js';
import { Grants } from '../grant/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { readMetadata, readMetadataText } from '../metadata/index.js';
import type { StoredMetadata } from '../metadata/index.js';
import { isWider, narrowed, readAcl } from './acl.js';
import type { Acl, UnknownReader } from './acl.js';
import { fileNameOf, WebFetch } from './fetch.js';
import { accessKeyOf, bucketAddress } from './files.js';
import { DEFAULT_DEPTH, DEFAULT_PAGES, DEFAULT_SOURCE } from './source.dto.js';
import type { BeginQuery, CompleteBody, ConnectorBody, PutDocumentBody } from './source.dto.js';
import type { KnowledgeSource, SourceRun } from './source.entity.js';
import {
  ConnectorSourceError,
  EmptyRunError,
  InvalidExternalIdError,
  NoConnectorError,
  OtherKindError,
  RunningError,
  SeveralContentsError,
  UnknownCursorError,
  UnknownSourceError,
} from './source.errors.js';
import { SourceRepository } from './source.repository.js';
import type { SourceDocument } from './source.repository.js';
import { RemovalView, KnowledgeSourceView, StoredDocumentView } from './source.view.js';
import type { BegunRunView } from './source.view.js';

/** The job of a run of a connector. */
export const SOURCE_JOB = 'source.run';

/** What a connector works with. */
export interface ConnectorRun {
  readonly caller: Caller;
  readonly knowledge: KnowledgeBase;
  readonly source: KnowledgeSource;
  readonly run: SourceRun;
  readonly signal: AbortSignal;
}

/** Bytes of an id, so that it fits into an index. */
const MAX_EXTERNAL_ID_BYTES = 2_000;
/** Documents that one transaction removes, and one request. */
const MAX_REMOVED_AT_ONCE = 100;
const MAX_REMOVED = 1_000;

/** A document as its source describes it. What is undefined stays as it is. */
export interface SourceItem {
  readonly externalId: string;
  readonly name?: string | undefined;
  /** The mark of the content: while it stays the same, the content does. */
  readonly etag?: string | undefined;
  readonly metadata?: StoredMetadata | undefined;
  readonly acl?: Acl | undefined;
}

/** content-needed: the source has another content than the base, and has not sent it. */
export type StoredResult = 'created' | 'changed' | 'unchanged' | 'content-needed';

/** The base, and the name of a source in it. */
interface SourcePlace {
  readonly knowledgeId: number;
  readonly source?: string | undefined;
}

/** The readers that an acl names; null: those of the base. */
interface Readers {
  readonly subjects: readonly string[] | null;
  readonly unknown: readonly UnknownReader[];
}

/** Keeps the documents of a base like those of its sources: programs over the API, and the connectors of this service. */
@Injectable()
export class SourceService {
  constructor(
    private readonly repository: SourceRepository,
    private readonly attachments: AttachService,
    private readonly knowledge: KnowledgeService,
    private readonly grants: Grants,
    private readonly storage: StorageService,
    private readonly uploads: UploadEngine,
    private readonly web: WebFetch,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly queue: JobQueue,
  ) {}

  async list(caller: Caller, knowledgeId: number): Promise<KnowledgeSourceView[]> {
    await this.knowledge.readable(caller, knowledgeId);
    const sources = await this.repository.list(caller.tenantId, knowledgeId);
    return sources.map((source) => KnowledgeSourceView.from(source));
  }

  /** Puts a document that a program has sent. `parts` are the files of a form. */
  async put(
    caller: Caller,
    place: SourcePlace & { readonly externalId: string },
    body: PutDocumentBody,
    parts: readonly UploadedPart[],
  ): Promise<StoredDocumentView> {
    requirePermission(caller, 'system:attach:add');
    const knowledge = await this.knowledge.writable(caller, place.knowledgeId);
    const externalId = readExternalId(place.externalId);
    const acl = readAcl(body.acl);
    if (acl) await this.grants.requireReaders(caller);
    const metadata = readGivenMetadata(body.metadata);
    const { name, text, address } = body;
    const etag = body.etag || undefined;
    const [part] = parts;
    const contents = [...parts, text, address].filter((content) => content !== undefined);
    if (contents.length > 1) throw new SeveralContentsError();
    const source = await this.pushed(caller, place);
    const item = { externalId, name, etag, metadata, acl };
    return this.guarded(caller, source, item, async () => {
      if (await this.isUnchanged(source, item)) {
        await this.storage.discardUnrecorded(parts);
        return this.store(caller, knowledge, source, item);
      }
      const received = part ?? (await this.receive(item, { text, address }));
      if (received && isRefused(received)) throw received.refusal;
      const named = received && name !== undefined ? { ...received, name } : received;
      return this.store(caller, knowledge, source, item, named);
    });
  }

  /** Whether the base has the document with the mark that the source says, so that its content is not needed. */
  async isUnchanged(source: KnowledgeSource, { externalId, etag }: SourceItem): Promise<boolean> {
    if (etag === undefined) return false;
    const existing = await this.repository.document(source.tenantId, source.id, externalId);
    return existing?.etag === etag && existing.ossId !== null;
  }

  /**
   * Puts a file of a connector; its content is opened only if its etag is another one. A file that cannot become a document does
   * not end the run.
   */
  async putFile(
    { caller, knowledge, source, signal }: ConnectorRun,
    item: SourceItem,
    open: () => Promise<Readable>,
  ): Promise<void> {
    try {
      await this.guarded(caller, source, item, async () => {
        if (await this.isUnchanged(source, item)) {
          await this.store(caller, knowledge, source, item);
          return;
        }
        const name = item.name ?? item.externalId;
        const received = await this.uploads.receive(await open(), name, signal);
        if (isRefused(received)) throw received.refusal;
        await this.store(caller, knowledge, source, item, received);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DomainError)) throw error;
    }
  }

  /** Does the work of one document. If it fails, its former content stays for those alone who may read the new one, too. */
  async guarded<T>(
    caller: Caller,
    source: KnowledgeSource,
    { externalId, acl }: SourceItem,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { tenantId, id } = source;
      const existing = await this.repository.document(tenantId, id, externalId);
      if (existing) {
        await this.database.transaction(async () => {
          await this.narrow(caller, existing, acl && (await this.readersOf(tenantId, acl)));
          await this.repository.seen(tenantId, existing.id, undefined);
        });
      }
      const failure = { externalId, message: error.userMessage };
      await this.repository.count(tenantId, id, 'failed', failure);
      throw error;
    }
  }

  /**
   * Makes the received file the content of the document, or leaves that as it is where it is the same; applies name, metadata
   * and readers. The file is removed unless it is used. Two calls for one document come one after the other.
   */
  async store(
    caller: Caller,
    knowledge: KnowledgeBase,
    source: KnowledgeSource,
    item: SourceItem,
    received?: ReceivedFile,
  ): Promise<StoredDocumentView> {
    const { tenantId } = caller;
    try {
      if (received) await this.attachments.requireDocument(knowledge, received);
      return await this.database.longTransaction(async () => {
        if (!(await this.knowledge.lock(tenantId, knowledge.id))) {
          throw new NotFoundError(msg`The knowledge base`);
        }
        const existing = await this.repository.document(tenantId, source.id, item.externalId);
        const readers = item.acl && (await this.readersOf(tenantId, item.acl));
        const stored = await this.apply({ caller, knowledge, source }, item, {
          existing,
          readers,
          received,
        });
        if (stored.result !== 'content-needed') {
          await this.repository.count(tenantId, source.id, stored.result);
        }
        const unknownReaders = (readers?.unknown ?? []).map(({ name }) => name);
        return StoredDocumentView.of({ ...stored, unknownReaders });
      });
    } finally {
      if (received) await this.storage.discardUnrecorded([received]);
    }
  }

  private async apply(
    {
      caller,
      knowledge,
      source,
    }: { caller: Caller; knowledge: KnowledgeBase; source: KnowledgeSource },
    item: SourceItem,
    change: {
      readonly existing: SourceDocument | undefined;
      readonly readers: Readers | undefined;
      readonly received: ReceivedFile | undefined;
    },
  ): Promise<{ result: StoredResult; id: number | null }> {
    const { existing, readers, received } = change;
    const { tenantId } = caller;
    const isNewMark = item.etag !== undefined && item.etag !== existing?.etag;
    if (!received && (!existing || isNewMark)) {
      if (existing) await this.narrow(caller, existing, readers);
      return { result: 'content-needed', id: existing?.id ?? null };
    }
    const hasSameMark = item.etag !== undefined && item.etag === existing?.etag;
    const isNewContent =
      received &&
      (!existing ||
        existing.ossId === null ||
        (!hasSameMark && existing.fileHash !== received.sha256));
    if (isNewContent) {
      const id = await this.storeContent({ caller, knowledge, source }, item, {
        existing,
        readers,
        received,
      });
      return { result: existing ? 'changed' : 'created', id };
    }
    if (!existing) throw new Error('A document without content was not made.');
    const { id } = existing;
    const hasNewReaders = await this.setReaders(caller, id, readers);
    const isDescribed = await this.describe(tenantId, existing, item);
    await this.repository.seen(tenantId, id, item.etag);
    return { result: hasNewReaders || isDescribed ? 'changed' : 'unchanged', id };
  }

  /** A new reader never sees the former content: where the list of readers becomes wider, the document is made again. */
  private async storeContent(
    {
      caller,
      knowledge,
      source,
    }: { caller: Caller; knowledge: KnowledgeBase; source: KnowledgeSource },
    item: SourceItem,
    change: {
      readonly existing: SourceDocument | undefined;
      readonly readers: Readers | undefined;
      readonly received: ReceivedFile;
    },
  ): Promise<number> {
    const { existing, readers, received } = change;
    const { tenantId } = caller;
    const before = existing && (await this.grants.readersOf(caller, existing.id));
    const opens = before !== undefined && readers && isWider(before, readers.subjects);
    let id = existing?.id;
    if (existing && !opens) {
      await this.attachments.replaceFile(caller, existing.id, received);
      await this.describe(tenantId, { ...existing, name: received.name }, item);
    } else {
      if (existing) await this.attachments.remove(caller, [existing.id]);
      const attachment = await this.attachments.create(caller, knowledge, received, {
        autoParse: true,
        metadata: item.metadata ?? existing?.metadata,
        readers: before ?? undefined,
        origin: { sourceId: source.id, externalId: item.externalId },
      });
      id = attachment.id;
    }
    if (id === undefined) throw new Error('The document was not stored.');
    await this.setReaders(caller, id, readers);
    await this.repository.seen(tenantId, id, item.etag ?? '');
    return id;
  }

  /** Applies name and metadata; false if nothing has changed. */
  private async describe(
    tenantId: string,
    existing: SourceDocument,
    { name, metadata }: SourceItem,
  ): Promise<boolean> {
    // The parser goes by the suffix.
    const isNamed =
      name !== undefined && name !== existing.name && suffixOf(name) === suffixOf(existing.name);
    const isDescribed = metadata !== undefined && !isDeepStrictEqual(metadata, existing.metadata);
    if (!isNamed && !isDescribed) return false;
    await this.repository.change(tenantId, existing.id, {
      ...(isNamed && { name }),
      ...(isDescribed && { metadata }),
    });
    return true;
  }

  /** Makes these the readers; false if they are already. */
  private async setReaders(
    caller: Caller,
    id: number,
    readers: Readers | undefined,
  ): Promise<boolean> {
    if (!readers) return false;
    const { tenantId } = caller;
    const { subjects, unknown } = readers;
    const before = await this.grants.readersOf(caller, id);
    const awaited = await this.repository.unknownReaders(tenantId, id);
    if (isSameList(before, subjects) && isSameList(namesOf(awaited), namesOf(unknown)))
      return false;
    const change = await this.grants.setReaders(caller, id, subjects);
    await this.repository.addUnknownReaders(tenantId, id, unknown);
    const detail = { ...change, restricted: subjects !== null };
    await this.audit.record(caller, {
      ...{ action: 'permission-change', target: 'attachment', id, detail },
    });
    return true;
  }

  /** Takes away the readers that are not among the new ones, while the document has its former content. */
  private async narrow(
    caller: Caller,
    { id }: SourceDocument,
    readers: Readers | undefined,
  ): Promise<void> {
    if (!readers) return;
    const before = await this.grants.readersOf(caller, id);
    const subjects = narrowed(before, readers.subjects);
    await this.setReaders(caller, id, { subjects, unknown: [] });
  }

  private async readersOf(tenantId: string, acl: Acl): Promise<Readers> {
    if (acl === 'public') return { subjects: null, unknown: [] };
    return this.repository.subjectsOf(tenantId, acl);
  }

  private async receive(
    { externalId, name }: SourceItem,
    { text, address }: Pick<PutDocumentBody, 'text' | 'address'>,
  ): Promise<UploadedPart | undefined> {
    const { signal } = new AbortController();
    if (text !== undefined) {
      const fileName = withSuffix(name ?? fileNameOf(externalId), '.txt');
      return this.uploads.receive(Readable.from([Buffer.from(text)]), fileName, signal);
    }
    return address === undefined ? undefined : this.web.receive(address, name, signal);
  }

  /** Removes one document of a source. A document that is not there is removed already. */
  async remove(
    caller: Caller,
    place: SourcePlace & { readonly externalId: string },
  ): Promise<void> {
    await this.knowledge.writable(caller, place.knowledgeId);
    const source = await this.named(caller, place);
    requirePush(source);
    const { tenantId } = caller;
    await this.database.longTransaction(async () => {
      await this.knowledge.lock(tenantId, place.knowledgeId);
      const document = await this.repository.document(tenantId, source.id, place.externalId);
      if (!document) return;
      await this.attachments.remove(caller, [document.id]);
      await this.repository.countRemoved(tenantId, source.id, 1);
    });
  }

  /** Begins a run, in the place of one that is open; with `resume` that one goes on. */
  async begin(caller: Caller, knowledgeId: number, query: BeginQuery): Promise<BegunRunView> {
    await this.knowledge.writable(caller, knowledgeId);
    const { tenantId } = caller;
    return this.database.transaction(async () => {
      const source = await this.pushed(caller, { knowledgeId, source: query.source });
      const open = await this.repository.lockOpenRun(tenantId, source.id);
      if (open && query.resume) return { cursor: open.cursor, resumed: true };
      const run = await this.repository.begin(tenantId, source.id, 'push');
      if (!run) throw new Error('The run was not opened.');
      return { cursor: run.cursor, resumed: false };
    });
  }

  /** Removes documents that the program has not put since the run began, up to a limit, and ends the run with the last one. */
  async complete(
    caller: Caller,
    place: SourcePlace,
    { cursor, allowEmpty = false }: CompleteBody,
  ): Promise<RemovalView> {
    requirePermission(caller, 'system:attach:remove');
    await this.knowledge.writable(caller, place.knowledgeId);
    const source = await this.named(caller, place);
    requirePush(source);
    const run = await this.repository.runOf(caller.tenantId, source.id, cursor);
    if (!run || !['open', 'done'].includes(run.state)) throw new UnknownCursorError();
    if (run.state === 'done') return { removed: 0, remaining: 0 };
    return this.finish(caller, source, run, allowEmpty);
  }

  /**
   * The end of a run, of programs and connectors alike. A run that has seen nothing while the source has documents is refused unless
   * `allowEmpty`: the program may be broken.
   */
  async finish(
    caller: Caller,
    source: KnowledgeSource,
    run: SourceRun,
    allowEmpty: boolean,
  ): Promise<RemovalView> {
    const { tenantId } = caller;
    const { total, stale } = await this.repository.progress(tenantId, run);
    if (total > 0 && stale === total && !allowEmpty) throw new EmptyRunError(total);
    const removed = await this.removeBatches(caller, source, () =>
      this.repository.stale(tenantId, run, MAX_REMOVED_AT_ONCE),
    );
    const remaining = Math.max(0, stale - removed);
    if (remaining === 0) await this.repository.end(tenantId, run.id, 'done');
    return { removed, remaining };
  }

  /** Removes documents of a source up to a limit, and with the last one the source. */
  async removeSource(caller: Caller, place: SourcePlace): Promise<RemovalView> {
    await this.knowledge.writable(caller, place.knowledgeId);
    const source = await this.named(caller, place);
    const { tenantId } = caller;
    const { id } = source;
    // What a connector does now must not come back.
    await this.repository.sources.update(tenantId, id, { paused: true });
    const open = await this.repository.runs.findOne(tenantId, { sourceId: id, state: 'open' });
    if (open) await this.repository.end(tenantId, open.id, 'replaced');
    const removed = await this.removeBatches(caller, source, () =>
      this.repository.documents(tenantId, id, MAX_REMOVED_AT_ONCE),
    );
    const remaining = await this.database.transaction(async () => {
      await this.knowledge.lock(tenantId, place.knowledgeId);
      const count = await this.repository.countDocuments(tenantId, id);
      if (count > 0) return count;
      await this.repository.sources.remove(tenantId, [id]);
      const detail = { knowledgeId: place.knowledgeId };
      await this.audit.record(caller, { action: 'delete', target: 'knowledge_source', id, detail });
      return 0;
    });
    return { removed, remaining };
  }

  /** Makes a connector, or changes it. It runs with the rights that the caller has at each run. */
  async save(caller: Caller, knowledgeId: number, body: ConnectorBody): Promise<void> {
    requirePermission(caller, 'system:attach:add');
    requirePermission(caller, 'system:attach:remove');
    await this.knowledge.writable(caller, knowledgeId);
    const { tenantId, userId } = caller;
    const { name, kind, cron = null, timeZone = null, address } = body;
    this.web.check(address, Boolean(body.token));
    if (cron !== null) requireTimes({ cron, timeZone });
    if (kind === 's3') {
      bucketAddress(address);
      if (body.token) accessKeyOf(body.token);
    }
    const settings = connectorSettings(body);
    await this.database.transaction(async () => {
      await this.knowledge.lock(tenantId, knowledgeId);
      const isNew = (await this.repository.named(tenantId, knowledgeId, name)) === null;
      const source = await this.repository.make(caller, knowledgeId, name, kind);
      if (source.kind !== kind) throw new OtherKindError(name, source.kind);
      const { id } = source;
      const secret = body.token
        ? this.repository.tokens.seal(tenantId, id, body.token)
        : tokenChange(source, body);
      const change = { settings, cron, timeZone, secret, userId: userId || null };
      await this.repository.sources.update(tenantId, id, change);
      const action = isNew ? 'create' : 'update';
      await this.audit.record(caller, { action, target: 'knowledge_source', id });
    });
  }

  /** Runs a connector now. */
  async runNow(caller: Caller, place: SourcePlace): Promise<void> {
    const source = await this.connector(caller, place);
    if (!(await this.fire(source, 'manual'))) throw new RunningError();
  }

  /** Ends the schedule of a connector for a time; a run that is under way goes on. */
  async pause(caller: Caller, place: SourcePlace, paused: boolean): Promise<void> {
    const { tenantId, id } = await this.connector(caller, place);
    await this.database.transaction(async () => {
      await this.repository.sources.update(tenantId, id, { paused });
      const detail = { paused };
      await this.audit.record(caller, {
        ...{ action: 'status-change', target: 'knowledge_source', id, detail },
      });
    });
  }

  /** Makes a run of a connector, unless one is open or one was made for that time. */
  async fire(
    { tenantId, id }: Pick<KnowledgeSource, 'tenantId' | 'id'>,
    trigger: 'manual' | 'schedule',
    dueAt?: Date,
  ): Promise<boolean> {
    const run = await this.database.transaction(async () => {
      if (await this.repository.lockOpenRun(tenantId, id)) return null;
      return this.repository.begin(tenantId, id, trigger, dueAt);
    });
    if (!run) return false;
    await this.queue.add(SOURCE_JOB, { id: String(run.id), data: { tenantId, runId: run.id } });
    return true;
  }

  private async connector(caller: Caller, place: SourcePlace): Promise<KnowledgeSource> {
    await this.knowledge.writable(caller, place.knowledgeId);
    const source = await this.named(caller, place);
    if (source.kind === 'push') throw new NoConnectorError(source.name);
    return source;
  }

  /** Each batch is chosen and removed while the base is locked, so that no document goes that is put at the same time. */
  private async removeBatches(
    caller: Caller,
    source: KnowledgeSource,
    next: () => Promise<number[]>,
  ): Promise<number> {
    const { tenantId } = caller;
    let removed = 0;
    while (removed < MAX_REMOVED) {
      const count = await this.database.longTransaction(async () => {
        await this.knowledge.lock(tenantId, source.knowledgeId);
        const ids = await next();
        if (ids.length > 0) await this.attachments.remove(caller, ids);
        await this.repository.countRemoved(tenantId, source.id, ids.length);
        return ids.length;
      });
      removed += count;
      if (count < MAX_REMOVED_AT_ONCE) break;
    }
    return removed;
  }

  /** The source with the name, which no connector fills. It is made where there is none. */
  private async pushed(
    caller: Caller,
    { knowledgeId, source: name = DEFAULT_SOURCE }: SourcePlace,
  ): Promise<KnowledgeSource> {
    const source =
      (await this.repository.named(caller.tenantId, knowledgeId, name)) ??
      (await this.repository.make(caller, knowledgeId, name, 'push'));
    requirePush(source);
    return source;
  }

  private async named(
    { tenantId }: Caller,
    { knowledgeId, source: name = DEFAULT_SOURCE }: SourcePlace,
  ): Promise<KnowledgeSource> {
    const source = await this.repository.named(tenantId, knowledgeId, name);
    if (!source) throw new UnknownSourceError();
    return source;
  }
}

function connectorSettings(body: ConnectorBody): KnowledgeSource['settings'] {
  const { kind, address, maxPages = DEFAULT_PAGES, maxDepth = DEFAULT_DEPTH } = body;
  if (kind === 'web') return { address: new URL(address).href, maxPages, maxDepth };
  const { branch = null, folder = '', patterns = [] } = body;
  const files = { address, folder: folder.replace(/^\/+|\/+$/g, ''), patterns, maxPages };
  return kind === 'git' ? { ...files, branch } : files;
}

/** Whether the stored token stays (undefined) or goes (null). It never goes to another server. */
function tokenChange({ settings }: KnowledgeSource, body: ConnectorBody): null | undefined {
  const { address: before } = settings;
  const { address, token } = body;
  if (token === '') return null;
  const isSame = before !== undefined && new URL(before).origin === new URL(address).origin;
  return isSame ? undefined : null;
}

/** A route names one permission of its method; a run makes and removes documents besides. */
function requirePermission(caller: Caller, permission: string): void {
  if (!mayAny(caller, [permission])) throw new ForbiddenError();
}

function requirePush({ kind, name }: KnowledgeSource): void {
  if (kind !== 'push') throw new ConnectorSourceError(name);
}

function readExternalId(externalId: string): string {
  const bytes = Buffer.byteLength(externalId);
  const isReadable = externalId.trim() !== '' && externalId.isWellFormed();
  if (!isReadable || bytes > MAX_EXTERNAL_ID_BYTES || externalId.includes('\0')) {
    throw new InvalidExternalIdError(MAX_EXTERNAL_ID_BYTES);
  }
  return externalId;
}

/** A form sends metadata as JSON. */
function readGivenMetadata(metadata: unknown): StoredMetadata | undefined {
  if (metadata === undefined || metadata === null || metadata === '') return undefined;
  return typeof metadata === 'string' ? readMetadataText(metadata) : readMetadata(metadata);
}

function withSuffix(name: string, suffix: string): string {
  return suffixOf(name) === '' ? name + suffix : name;
}

function namesOf(readers: readonly UnknownReader[]): string[] {
  return readers.map(({ kind, name }) => `${kind}:${name}`);
}

function isSameList(one: readonly string[] | null, other: readonly string[] | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((entry) => other.includes(entry));
}
