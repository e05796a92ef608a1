import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { TenantLifecycle } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { isMissing } from '../../platform/filesystem/index.js';
import { FileStorage, Installation } from '../../platform/storage/index.js';
import type { NamedObjects } from '../../platform/storage/index.js';
import { blobPath, blobRoot, tenantBlobs } from './blob.path.js';
import { newId, sha256 } from '../protocol/values.js';
import { ArtifactRepository } from '../store/file-change.repository.js';
import type { StoredContent } from '../store/file-change.repository.js';
import type { HarnessArtifact, HarnessRun } from '../store/harness.entity.js';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** Age at which a shared content is stored again, so that `removeOld`, which spares a day, sees that it is in use. */
const REFRESH_MS = 12 * HOUR_MS;

/** Contents of one batch of a move. */
const MOVED_AT_ONCE = 500;

/** Contents that are sent to the object storage at a time. */
const SHARED_AT_ONCE = 16;

/**
 * Contents by their SHA-256, apart for each tenant: what files were before and after a change, and the outputs of tools.
 * A content is written once, is never changed, and is compared with its hash whenever it is read. With an object storage
 * the files of DATA_DIR are the copies of this machine: what rows refer to is an object as well, which any process reads;
 * snapshots stay on the machine of their workspace.
 */
@Injectable()
export class BlobStore {
  private readonly logger = new Logger(BlobStore.name);
  private readonly root: string;
  /** Objects that this process has stored or seen a moment ago: a second `put`, inside a transaction, asks no server. */
  private readonly recentObjects = new LRUCache<string, true>({ max: 10_000, ttl: HOUR_MS });

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly database: Database,
    private readonly installation: Installation,
    private readonly files: FileStorage,
    lifecycle: TenantLifecycle,
  ) {
    this.root = blobRoot(config.DATA_DIR);
    lifecycle.join({
      deleting: (tenantId) => this.database.afterCommit(() => this.forget(tenantId)),
    });
  }

  /** Stores the bytes durably and returns their SHA-256. Storing them again costs one read. */
  async put(tenantId: string, bytes: Uint8Array): Promise<string> {
    const hash = sha256(bytes);
    const path = this.pathOf(tenantId, hash);
    // Says to removeOld, before the content is looked at, that it is in use.
    await utimes(path, new Date(), new Date()).catch(() => undefined);
    // A damaged content is written again; an intact one may have been stored without a flush, for a snapshot.
    if (!(await contentOf(path))?.equals(bytes)) await write(path, bytes);
    await this.flush(path);
    await this.shareBytes(tenantId, hash, bytes);
    return hash;
  }

  /** Makes contents that a snapshot has stored on this machine readable for every process; missing ones are left out. */
  async share(tenantId: string, hashes: Iterable<string>): Promise<void> {
    if (!this.files.objects) return;
    const queue = new PQueue({ concurrency: SHARED_AT_ONCE });
    const share = async (hash: string): Promise<void> => {
      const bytes = await contentOf(this.pathOf(tenantId, hash));
      if (bytes) await this.shareBytes(tenantId, hash, bytes);
    };
    await queue.addAll([...hashes].map((hash) => () => share(hash)));
  }

  /** Brings contents to this machine, for threads that read them by their paths, until the deadline; missing ones are left out. */
  async fetch(tenantId: string, hashes: Iterable<string>, deadline: number): Promise<void> {
    if (!this.files.objects) return;
    for (const hash of hashes) {
      if (Date.now() >= deadline) return;
      const isHere = await stat(this.pathOf(tenantId, hash)).catch(() => undefined);
      if (!isHere) await this.sharedContent(tenantId, hash);
    }
  }

  private async shareBytes(tenantId: string, hash: string, bytes: Uint8Array): Promise<void> {
    const { objects } = this.files;
    const name = objectName(tenantId, hash);
    if (!objects || this.recentObjects.has(name)) return;
    const existing = await objects.stat(name);
    const isFresh = existing && existing.writtenAt.getTime() > Date.now() - REFRESH_MS;
    if (!isFresh || existing.byteSize !== bytes.length) await objects.put(name, bytes);
    this.recentObjects.set(name, true);
  }

  /** The shared content, which this machine has a copy of from now on; undefined when it is lost or damaged. */
  private async sharedContent(tenantId: string, hash: string): Promise<Buffer | undefined> {
    const bytes = await this.files.objects?.get(objectName(tenantId, hash));
    if (!bytes || sha256(bytes) !== hash) return undefined;
    await write(this.pathOf(tenantId, hash), bytes);
    return bytes;
  }

  /** The bytes; undefined when they were never stored, were lost or are damaged. */
  async get(tenantId: string, hash: string): Promise<Buffer | undefined> {
    const bytes = await contentOf(this.pathOf(tenantId, hash));
    if (bytes && sha256(bytes) === hash) return bytes;
    const shared = await this.sharedContent(tenantId, hash);
    if (shared || !bytes) return shared;
    this.logger.error({ msg: 'Stored content is damaged', tenantId, hash });
    return undefined;
  }

  /** Whether something is stored under the hash; only `get` says whether it is intact. */
  async has(tenantId: string, hash: string): Promise<boolean> {
    return (await this.sizeOf(tenantId, hash)) !== undefined;
  }

  /** Size of the content under the hash; undefined when there is none. */
  async sizeOf(tenantId: string, hash: string): Promise<number | undefined> {
    try {
      return (await stat(this.pathOf(tenantId, hash))).size;
    } catch (error) {
      if (!isMissing(error)) throw error;
      return (await this.files.objects?.stat(objectName(tenantId, hash)))?.byteSize;
    }
  }

  /**
   * Removes contents to which no row refers. One that was stored again within a day stays, because the row that will refer to
   * it may not be written yet.
   */
  async removeOld(tenantId: string, hashes: readonly string[]): Promise<void> {
    if ((await this.installation.uncertainty()) !== undefined) return;
    for (const hash of hashes) {
      const path = this.pathOf(tenantId, hash);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < Date.now() - DAY_MS) await rm(path, { force: true });
      const { objects } = this.files;
      const name = objectName(tenantId, hash);
      this.recentObjects.delete(name);
      const shared = await objects?.stat(name);
      if (shared && shared.writtenAt.getTime() < Date.now() - DAY_MS) await objects?.remove(name);
    }
  }

  /**
   * Copies a content between DATA_DIR and an object storage, unless it is there already. `lost` where the source has none
   * or a damaged one.
   */
  async copy(
    { tenantId, sha256: hash }: StoredContent,
    objects: NamedObjects,
    to: 's3' | 'disk',
  ): Promise<'copied' | 'there' | 'lost'> {
    const path = this.pathOf(tenantId, hash);
    const name = objectName(tenantId, hash);
    const read = {
      disk: () => contentOf(path),
      s3: () => objects.get(name),
    };
    const isIntact = (bytes: Buffer | undefined): bytes is Buffer =>
      bytes !== undefined && sha256(bytes) === hash;
    if (isIntact(await read[to]())) return 'there';
    const bytes = await read[to === 's3' ? 'disk' : 's3']();
    if (!isIntact(bytes)) return 'lost';
    if (to === 's3') await objects.put(name, bytes);
    else await write(path, bytes);
    return isIntact(await read[to]()) ? 'copied' : 'lost';
  }

  /** Path of the content, for threads that read it themselves. */
  pathOf(tenantId: string, hash: string): string {
    return blobPath(this.root, tenantId, hash);
  }

  /** The content and every name on the way to it: any of them may have been made a moment ago, without a flush. */
  private async flush(path: string): Promise<void> {
    for (let at = path; at.startsWith(this.root); at = join(at, '..')) await synced(at);
  }

  /**
   * Nothing refers to the contents of a deleted tenant, so the deletion succeeds even when some are left. They are left
   * while another database may use them.
   */
  private async forget(tenantId: string): Promise<void> {
    const folder = tenantBlobs(this.root, tenantId);
    if (folder === undefined) return;
    try {
      const reason = await this.installation.uncertainty();
      if (reason === undefined) {
        await rm(folder, { recursive: true, force: true });
        const { objects } = this.files;
        if (!objects) return;
        for await (const { name } of objects.list(objectsOf(tenantId))) await objects.remove(name);
      } else {
        this.logger.warn({ msg: 'Stored contents of a deleted tenant left', tenantId, reason });
      }
    } catch (error) {
      this.logger.error({
        msg: 'Failed to remove stored contents of a deleted tenant',
        tenantId,
        err: error,
      });
    }
  }
}

/** The prefix of a tenant's contents in an object storage. */
function objectsOf(tenantId: string): string {
  return `harness/${tenantId}/`;
}

function objectName(tenantId: string, hash: string): string {
  return objectsOf(tenantId) + hash;
}

/** Makes a file's content, or the names in a folder, survive a loss of power. */
async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** A reader sees the whole content or none. */
async function write(path: string, bytes: Uint8Array): Promise<void> {
  const folder = join(path, '..');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${randomBytes(16).toString('hex')}`);
  try {
    await writeNew(unfinished, bytes);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/**
 * Writes a file that only the service may read. It fails with EEXIST where anything has the path already, a link included,
 * which is not followed.
 */
export async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
  } finally {
    await handle.close();
  }
}

const MIB = 1024 * 1024;

export interface NewArtifact {
  /** The tool call whose output it is; null for an image of the requirement. */
  readonly toolCallId: string | null;
  /** A word of at most 20 characters: what it is, such as `output` or `image`. */
  readonly kind: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Outputs and images that are stored for one run. */
export const ARTIFACT_LIMITS = { runBytes: 200 * MIB };

/** Complete contents of which a model saw a part, stored for people and for later turns. */
@Injectable()
export class Artifacts {
  constructor(
    private readonly database: Database,
    private readonly repository: ArtifactRepository,
    private readonly blobs: BlobStore,
  ) {}

  /**
   * Stores an artifact of the run and returns its id; undefined when it exceeds the run's remaining allowance. The content
   * is on disk before the row is written: inside a transaction call `BlobStore.put` first, so that this finds it there.
   */
  async keep(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    { bytes, toolCallId, kind, mediaType }: NewArtifact,
  ): Promise<string | undefined> {
    const { tenantId, id: runId } = run;
    if (bytes.length > ARTIFACT_LIMITS.runBytes) return undefined;
    const sha256 = await this.blobs.put(tenantId, bytes);
    const id = newId();
    return this.database.transaction(async () => {
      if (!(await this.repository.takeRoom(run, bytes.length, ARTIFACT_LIMITS.runBytes)))
        return undefined;
      const byteSize = bytes.length;
      await this.repository.insert({
        id,
        tenantId,
        runId,
        toolCallId,
        kind,
        mediaType,
        byteSize,
        sha256,
      });
      return id;
    });
  }

  /** Copies contents between DATA_DIR and an object storage, until the signal aborts. Answers how many. */
  async move(
    objects: NamedObjects,
    to: 's3' | 'disk',
    signal: AbortSignal,
  ): Promise<{ readonly copied: number; readonly there: number; readonly lost: number }> {
    const counts = { copied: 0, there: 0, lost: 0 };
    let last: StoredContent | undefined;
    do {
      const batch = await this.repository.contentsAfter(last, MOVED_AT_ONCE);
      for (const content of batch) {
        if (signal.aborted) return counts;
        counts[await this.blobs.copy(content, objects, to)] += 1;
      }
      last = batch.at(-1);
    } while (last);
    return counts;
  }

  /** Artifacts of the run, oldest first. */
  async ofRun({ tenantId, id }: Pick<HarnessRun, 'id' | 'tenantId'>): Promise<HarnessArtifact[]> {
    return this.repository.ofRun(tenantId, id);
  }

  /** One of the run's artifacts; its content is undefined when it was lost. Undefined when there is none. */
  async find(
    { tenantId, id: runId }: Pick<HarnessRun, 'id' | 'tenantId'>,
    id: string,
  ): Promise<{ artifact: HarnessArtifact; bytes: Buffer | undefined } | undefined> {
    const artifact = await this.repository.find(tenantId, runId, id);
    if (!artifact) return undefined;
    return { artifact, bytes: await this.blobs.get(tenantId, artifact.sha256) };
  }
}
