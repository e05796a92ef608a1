import { fileURLToPath } from 'node:url';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { Piscina } from 'piscina';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { ToolError } from '../../fault/tool.error.js';
import { blobRoot } from '../blob.path.js';
import { BlobStore } from '../blob.store.js';
import type { FileOperation } from '../../workspace/file-operation.js';
import { manifestBytes, operationsBetween, readManifest } from './manifest.js';
import type { Manifest, StoredManifest } from './manifest.js';
import type { ProtectedPath } from '../../sandbox/workspace-scan.js';
import type { LookAnswer, LookTask } from './snapshot.worker.js';

const WORKER = fileURLToPath(new URL('./snapshot.worker.js', import.meta.url));
/** One that has had nothing to do for so long ends. */
const IDLE_MS = 5 * 60 * 1_000;

/** Longest time for one look at a workspace, waiting for others not counted: the first one reads every file. */
const TAKE_MS = 5 * 60 * 1_000;
const CHANGES_MS = 2 * 60 * 1_000;
/** With the waiting: a person is not to be asked later for it. */
const COUNT_MS = 15_000;

/** Files of which the state is remembered, over all workspaces. */
const REMEMBERED_FILES = 200_000;

export interface SnapshotTarget {
  readonly tenantId: string;
  /** The canonical path of the workspace. */
  readonly root: string;
}

export interface Snapshot extends StoredManifest {
  /** Of what is stored. */
  readonly sha256: string;
}

interface Look {
  readonly signal: AbortSignal;
  readonly limitMs: number;
  readonly earlier?: Manifest;
}

interface Work {
  readonly name: 'look' | 'countUnkept';
  readonly task: unknown;
  readonly limitMs: number;
}

/**
 * What a workspace holds before and after a command, so that its changes can be found and undone. A content is read and
 * kept once, of the first 20,000 files and 500 MiB, in files of at most 2 MiB; later snapshots read what has changed.
 * Links, special files, git's own files and the folders that scans skip are left out; of secrets nothing is kept. The
 * work is done by one thread, a workspace after the other: it would hold up everything else. Fails with the signal's
 * reason; workspaces with more than 250,000 files and folders are not looked through.
 */
@Injectable()
export class WorkspaceSnapshots implements OnApplicationShutdown {
  private readonly blobRoot: string;
  private thread: Piscina | undefined;
  private readonly queue = new PQueue({ concurrency: 1 });
  private readonly stopping = new AbortController();
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
    this.stopping.abort();
    await this.thread?.destroy();
  }

  /**
   * The workspace as it is now; its contents and its manifest are kept. Before a command: fails with ToolError TOO_LARGE
   * where that is more than can be looked through.
   */
  async take(
    target: SnapshotTarget,
    signal: AbortSignal,
    protectedPaths: readonly ProtectedPath[] = [],
  ): Promise<Snapshot> {
    const manifest = await this.look(target, { signal, limitMs: TAKE_MS }).catch(
      (error: unknown) => {
        if (isTimeOut(error)) return undefined;
        throw error;
      },
    );
    if (!manifest) throw tooLarge();
    const taken = { manifest, protectedPaths };
    const sha256 = await this.blobs.put(target.tenantId, manifestBytes(taken), { flush: false });
    return { sha256, ...taken };
  }

  /** A snapshot that was taken before; undefined when it is lost. */
  async load(tenantId: string, sha256: string): Promise<Snapshot | undefined> {
    const bytes = await this.blobs.get(tenantId, sha256);
    const taken = bytes && readManifest(bytes);
    return taken && { sha256, ...taken };
  }

  /**
   * What has changed since; the contents as they are now are kept, too. Undefined where there are too many files by now.
   * After two minutes of work it fails.
   */
  async changesSince(
    target: SnapshotTarget,
    { manifest }: Snapshot,
    signal: AbortSignal = this.stopping.signal,
  ): Promise<FileOperation[] | undefined> {
    const found = await this.look(target, { signal, limitMs: CHANGES_MS, earlier: manifest });
    if (!found) return undefined;
    const changes = operationsBetween(manifest, found);
    const checked: FileOperation[] = [];
    for (const change of changes) checked.push(await this.checked(target, change));
    return checked;
  }

  /**
   * Why changes of a command could not all be undone, for the person who is asked to allow it; null when they can. Reads no
   * file. Fails after 15 seconds.
   */
  async restorable(
    { root }: Pick<SnapshotTarget, 'root'>,
    signal: AbortSignal,
  ): Promise<string | null> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
    const work: Work = { name: 'countUnkept', task: root, limitMs: COUNT_MS };
    const count = (await this.run(work, limit)) as number | undefined;
    if (count === undefined) {
      return 'The workspace has so many files that commands are refused until it has fewer.';
    }
    if (count === 0) return null;
    const files = count === 1 ? '1 file' : `${count} files`;
    return `Changes of ${files} could not be undone: they are larger than 2 MiB, or beyond the first 20,000 files and 500 MiB of the workspace.`;
  }

  private async look(
    target: SnapshotTarget,
    { signal, limitMs, earlier }: Look,
  ): Promise<Manifest | undefined> {
    const known = this.remembered.get(keyOf(target)) ?? [];
    const task: LookTask = { ...target, blobs: this.blobRoot, known, earlier };
    const manifest = (await this.run({ name: 'look', task, limitMs }, signal)) as LookAnswer;
    if (manifest) this.remembered.set(keyOf(target), manifest);
    return manifest;
  }

  /** A content that was lost, or cut, since it was kept cannot be put back. */
  private async checked(target: SnapshotTarget, change: FileOperation): Promise<FileOperation> {
    if (!change.restorable || !change.before) return change;
    const { sha256, size } = change.before;
    if ((await this.blobs.sizeOf(target.tenantId, sha256)) === size) return change;
    this.remembered.delete(keyOf(target));
    return { ...change, restorable: false };
  }

  /** Its time begins with its turn: others may be slow. */
  private async run({ name, task, limitMs }: Work, given: AbortSignal): Promise<unknown> {
    const signal = AbortSignal.any([given, this.stopping.signal]);
    return this.queue.add(
      async () => {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
        this.thread ??= new Piscina({
          filename: WORKER,
          minThreads: 0,
          maxThreads: 1,
          idleTimeout: IDLE_MS,
        });
        try {
          return (await this.thread.run(task, { name, signal: limit })) as unknown;
        } catch (error) {
          limit.throwIfAborted();
          throw error;
        }
      },
      { signal },
    );
  }
}

function keyOf({ tenantId, root }: SnapshotTarget): string {
  return `${tenantId}:${root}`;
}

function isTimeOut(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

function tooLarge(): ToolError {
  return new ToolError(
    'TOO_LARGE',
    'The command was not run: the workspace has so many files, or is read so slowly, that the changes of a command could not be determined. Remove files that are not needed, or go on without commands.',
  );
}
