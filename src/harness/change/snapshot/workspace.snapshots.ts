import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { ToolError } from '../../protocol/tool-call.js';
import type { FileOperation } from '../../../effect/index.js';
import { blobRoot } from '../blob.path.js';
import { yieldingChunks } from '../../protocol/yielding-chunks.js';
import type { ProtectedPath } from '../../sandbox/workspace-scan.js';
import { WorkerThread } from '../worker-thread.js';
import type * as snapshotWorker from './snapshot.worker.js';
import type { Place } from './snapshot.worker.js';

const WORKER = new URL('./snapshot.worker.js', import.meta.url);
/** The thread ends when it has had nothing to do for so long. */
const IDLE_MS = 5 * 60 * 1_000;

/** Time limit for one scan of a workspace without the wait for others: the first one reads every file. */
const TAKE_MS = 5 * 60 * 1_000;
const CHANGES_MS = 2 * 60 * 1_000;
/** Time limit of a count, including the wait: it must not delay a person's question. */
const COUNT_MS = 15_000;

export interface SnapshotTarget {
  readonly tenantId: string;
  /** The canonical path of the workspace. */
  readonly root: string;
}

type Work = typeof snapshotWorker;

/**
 * Snapshots of a workspace before and after a command, so that its changes can be found and undone. A content is read and
 * stored once, of the first 20,000 files and 500 MiB, in files of at most 2 MiB; later snapshots read what has changed.
 * Links, special files, git's own files and the folders that scans skip are left out; nothing of secrets is stored. The
 * work is done by one thread, a workspace after the other, because it would block the process. Fails with the signal's
 * reason; workspaces with more than 250,000 files and folders are not looked through.
 */
@Injectable()
export class WorkspaceSnapshots implements OnApplicationShutdown {
  private readonly blobRoot: string;
  private readonly thread = new WorkerThread<Work>(WORKER, IDLE_MS);
  private readonly queue = new PQueue({ concurrency: 1 });
  /** Hash of each workspace's last manifest. */
  private readonly lastHashes = new LRUCache<string, string>({ max: 1_000 });

  constructor(@Inject(CONFIG) config: Config) {
    this.blobRoot = blobRoot(config.DATA_DIR);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }

  /**
   * The workspace as it is now, with the protected paths that are there, which may still be looked for; its contents are
   * kept. Answers the hash of what was stored. Before a command: fails with ToolError TOO_LARGE where that is more than
   * can be looked through.
   */
  async take(
    target: SnapshotTarget,
    signal: AbortSignal,
    protectedPaths: readonly ProtectedPath[] | Promise<readonly ProtectedPath[]> = [],
  ): Promise<string> {
    const place = { ...this.placeOf(target), lastHash: this.lastHashes.get(keyOf(target)) };
    const run = async <Name extends 'look' | 'take'>(
      name: Name,
      task: Parameters<Work[Name]>[0],
    ): Promise<NonNullable<ReturnType<Work[Name]>>> => {
      const result = await this.run(name, task, TAKE_MS, signal).catch((error: unknown) => {
        if (isTimeOut(error)) return undefined;
        throw error;
      });
      return result ?? tooLarge();
    };
    const [paths] = await Promise.all([protectedPaths, run('look', place)]);
    const hash = await run('take', { ...place, protectedPaths: paths });
    this.lastHashes.set(keyOf(target), hash);
    return hash;
  }

  /** The protected paths that were there when it was taken; undefined when it is lost. */
  async protectedPathsOf(
    target: SnapshotTarget,
    hash: string,
    signal: AbortSignal,
  ): Promise<readonly ProtectedPath[] | undefined> {
    const task = { ...this.placeOf(target), hash };
    return this.run('protectedPathsOf', task, CHANGES_MS, signal);
  }

  /**
   * Changes since the snapshot; the current contents are stored, too. Undefined when there are too many files by now.
   * Fails when the snapshot is lost, and after two minutes of work.
   */
  async changesSince(
    target: SnapshotTarget,
    before: string,
    signal: AbortSignal = this.thread.stopped,
  ): Promise<readonly FileOperation[] | undefined> {
    const task = { ...this.placeOf(target), before };
    const changes = await this.run('changes', task, CHANGES_MS, signal);
    if (changes?.isLost) this.lastHashes.delete(keyOf(target));
    if (!changes) return undefined;
    const operations: FileOperation[] = [];
    for await (const [piece] of yieldingChunks(changes.operations, 1)) {
      if (piece) operations.push(...operationsIn(piece));
    }
    return operations;
  }

  /**
   * Why changes of a command could not all be undone, for the person who is asked to allow it; null when they can. Reads no
   * file. Fails after 15 seconds.
   */
  async restorable(
    { root }: Pick<SnapshotTarget, 'root'>,
    signal: AbortSignal,
  ): Promise<Message | null> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
    const count = await this.run('countUnkept', root, COUNT_MS, limit);
    if (count === undefined) {
      return msg`The workspace has so many files that commands are refused until it has fewer.`;
    }
    if (count === 0) return null;
    const files = count === 1 ? msg`1 file` : msg`${count} files`;
    return msg`Changes of ${files} could not be undone: they are larger than 2 MiB, or beyond the first 20,000 files and 500 MiB of the workspace.`;
  }

  private placeOf(target: SnapshotTarget): Place {
    return { ...target, blobs: this.blobRoot };
  }

  /** Its time begins with its turn: others may be slow. */
  private async run<Name extends keyof Work>(
    name: Name,
    task: Parameters<Work[Name]>[0],
    limitMs: number,
    callerSignal: AbortSignal,
  ): Promise<ReturnType<Work[Name]>> {
    const signal = AbortSignal.any([callerSignal, this.thread.stopped]);
    const work = async (): Promise<ReturnType<Work[Name]>> =>
      this.thread.run(name, task, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]));
    return this.queue.add(work, { signal });
  }
}

function keyOf({ tenantId, root }: SnapshotTarget): string {
  return `${tenantId}:${root}`;
}

/** Decodes operations that the thread of this service wrote. */
function operationsIn(piece: Uint8Array): readonly FileOperation[] {
  return JSON.parse(new TextDecoder().decode(piece)) as readonly FileOperation[];
}

function isTimeOut(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

function tooLarge(): never {
  throw new ToolError(
    'TOO_LARGE',
    'The command was not run: the workspace has so many files, or is read so slowly, that the changes of a command could not be determined. Remove files that are not needed, or go on without commands.',
  );
}
