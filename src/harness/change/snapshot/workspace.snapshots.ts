import { fileURLToPath } from 'node:url';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Piscina } from 'piscina';
import { CONFIG } from '../../../config/index.js';
import type { Config } from '../../../config/index.js';
import { ToolError } from '../../tool/tool.error.js';
import { blobRoot } from '../blob.path.js';
import { BlobStore } from '../blob.store.js';
import type { FileOperation } from '../file-operation.js';
import { manifestBytes, operationsBetween, readManifest } from './manifest.js';
import type { Manifest } from './manifest.js';
import type { LookAnswer, LookTask } from './snapshot.worker.js';

const WORKER = fileURLToPath(new URL('./snapshot.worker.js', import.meta.url));
/** One that has had nothing to do for so long ends. */
const IDLE_MS = 5 * 60 * 1_000;

/** Files of which the state is remembered, over all workspaces. */
const REMEMBERED_FILES = 200_000;

export interface SnapshotTarget {
  readonly tenantId: string;
  /** The canonical path of the workspace. */
  readonly root: string;
}

export interface Snapshot {
  /** Of the stored manifest. */
  readonly sha256: string;
  readonly manifest: Manifest;
}

/**
 * What a workspace holds before and after a command, so that its changes can be told and undone. A content is read and
 * kept once, of the first 20,000 files and 500 MiB, in files of at most 2 MiB; later snapshots read what has changed.
 * Links, special files, git's own files and the folders that scans skip are left out; of secrets nothing is kept. The
 * work is done by a thread: it would hold up everybody else. Fails with ToolError TOO_LARGE where there are more than
 * 250,000 files and folders, and with the signal's reason.
 */
@Injectable()
export class WorkspaceSnapshots implements OnApplicationShutdown {
  private readonly blobRoot: string;
  private thread: Piscina | undefined;
  /** The last manifest of a workspace. */
  private readonly remembered = new LRUCache<string, Manifest>({
    max: 1_000,
    maxSize: REMEMBERED_FILES,
    sizeCalculation: ({ length }) => length + 1,
  });

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly blobs: BlobStore,
  ) {
    this.blobRoot = blobRoot(config.DATA_DIR);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread?.destroy();
  }

  /** The workspace as it is now; its contents and its manifest are kept. */
  async take(target: SnapshotTarget, signal: AbortSignal): Promise<Snapshot> {
    const manifest = await this.look(target, signal);
    const bytes = manifestBytes(manifest);
    return { sha256: await this.blobs.put(target.tenantId, bytes, { flush: false }), manifest };
  }

  /** A snapshot that was taken before; undefined when it is lost. */
  async load(tenantId: string, sha256: string): Promise<Snapshot | undefined> {
    const bytes = await this.blobs.get(tenantId, sha256);
    const manifest = bytes && readManifest(bytes);
    return manifest && { sha256, manifest };
  }

  /** What has changed since; the contents as they are now are kept, too. */
  async changesSince(
    target: SnapshotTarget,
    { manifest }: Snapshot,
    signal: AbortSignal,
  ): Promise<FileOperation[]> {
    const changes = operationsBetween(manifest, await this.look(target, signal, manifest));
    const checked: FileOperation[] = [];
    for (const change of changes) checked.push(await this.checked(target, change));
    return checked;
  }

  /**
   * Why changes of a command could not all be undone, for whoever is asked to allow it; null when they can. Reads no
   * file.
   */
  async restorable(
    { root }: Pick<SnapshotTarget, 'root'>,
    signal: AbortSignal,
  ): Promise<string | null> {
    const count = (await this.run('countUnkept', root, signal)) as number | undefined;
    if (count === undefined) throw tooLarge();
    if (count === 0) return null;
    const files = count === 1 ? '1 file' : `${count} files`;
    return `Changes of ${files} could not be undone: they are larger than 2 MiB, or beyond the first 20,000 files and 500 MiB of the workspace.`;
  }

  private async look(
    target: SnapshotTarget,
    signal: AbortSignal,
    earlier?: Manifest,
  ): Promise<Manifest> {
    const known = this.remembered.get(keyOf(target)) ?? [];
    const task: LookTask = { ...target, blobs: this.blobRoot, known, earlier };
    const manifest = (await this.run('look', task, signal)) as LookAnswer;
    if (!manifest) throw tooLarge();
    this.remembered.set(keyOf(target), manifest);
    return manifest;
  }

  /** A content that was lost since it was kept cannot be put back. */
  private async checked(target: SnapshotTarget, change: FileOperation): Promise<FileOperation> {
    if (!change.restorable || !change.before) return change;
    if (await this.blobs.has(target.tenantId, change.before.sha256)) return change;
    this.remembered.delete(keyOf(target));
    return { ...change, restorable: false };
  }

  private async run(name: string, task: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    this.thread ??= new Piscina({
      filename: WORKER,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
    });
    try {
      return await this.thread.run(task, { name, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }
}

function keyOf({ tenantId, root }: SnapshotTarget): string {
  return `${tenantId}:${root}`;
}

function tooLarge(): ToolError {
  return new ToolError(
    'TOO_LARGE',
    'The command was not run: the workspace has so many files that nobody could say what a command has changed. Remove what is not needed, or go on without commands.',
  );
}
