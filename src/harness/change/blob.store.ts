import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { TenantLifecycle } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { isMissing } from '../../platform/filesystem/index.js';
import { Installation } from '../../platform/storage/index.js';
import { blobPath, blobRoot, tenantBlobs } from './blob.path.js';
import { newId, sha256 } from '../protocol/values.js';
import { ArtifactRepository } from '../store/effect.repository.js';
import type { HarnessArtifact, HarnessRun } from '../store/harness.entity.js';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Contents by their SHA-256, apart for each tenant: what files were before and after a change, and the outputs of tools.
 * A content is written once, is never changed, and is compared with its hash whenever it is read.
 */
@Injectable()
export class BlobStore {
  private readonly logger = new Logger(BlobStore.name);
  private readonly root: string;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly database: Database,
    private readonly installation: Installation,
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
    return hash;
  }

  /** The bytes; undefined when they were never stored, were lost or are damaged. */
  async get(tenantId: string, hash: string): Promise<Buffer | undefined> {
    const bytes = await contentOf(this.pathOf(tenantId, hash));
    if (!bytes || sha256(bytes) === hash) return bytes;
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
      if (isMissing(error)) return undefined;
      throw error;
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
    }
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
      if (reason === undefined) await rm(folder, { recursive: true, force: true });
      else {
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
