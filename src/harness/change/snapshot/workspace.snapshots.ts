import { fileURLToPath } from 'node:url';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { Piscina } from 'piscina';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { msg, phrase } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { ToolError } from '../../fault/tool.error.js';
import { blobRoot } from '../blob.path.js';
import { inTurns } from '../../protocol/turns.js';
import type { FileOperation } from '../../workspace/file-operation.js';
import type { ProtectedPath } from '../../sandbox/workspace-scan.js';
import type { Changes, ChangesTask, LookTask, Place, TakeTask } from './snapshot.worker.js';

const WORKER = fileURLToPath(new URL('./snapshot.worker.js', import.meta.url));
/** One that has had nothing to do for so long ends. */
const IDLE_MS = 5 * 60 * 1_000;

/** Longest time for one look at a workspace, waiting for others not counted: the first one reads every file. */
const TAKE_MS = 5 * 60 * 1_000;
const CHANGES_MS = 2 * 60 * 1_000;
/** With the waiting: a person is not to be asked later for it. */
const COUNT_MS = 15_000;

export interface SnapshotTarget {
  readonly tenantId: string;
  /** The canonical path of the workspace. */
  readonly root: string;
}

type Work = {
  readonly limitMs: number;
} & (
  | { readonly name: 'look'; readonly task: LookTask }
  | { readonly name: 'take'; readonly task: TakeTask }
  | { readonly name: 'changes'; readonly task: ChangesTask }
  | { readonly name: 'protectedPathsOf'; readonly task: Place & { readonly hash: string } }
  | { readonly name: 'countUnkept'; readonly task: string }
);

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
  /** What was taken of a workspace last. */
  private readonly taken = new LRUCache<string, string>({ max: 1_000 });

  constructor(@Inject(CONFIG) config: Config) {
    this.blobRoot = blobRoot(config.DATA_DIR);
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.thread?.destroy();
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
    const place = { ...this.placeOf(target), known: this.taken.get(keyOf(target)) };
    const run = async (work: Work): Promise<unknown> => {
      const found = await this.run(work, signal).catch((error: unknown) => {
        if (isTimeOut(error)) return undefined;
        throw error;
      });
      if (found === undefined) throw tooLarge();
      return found;
    };
    const look = run({ name: 'look', task: place, limitMs: TAKE_MS });
    const [paths] = await Promise.all([protectedPaths, look]);
    const task = { ...place, protectedPaths: paths };
    const taken = (await run({ name: 'take', task, limitMs: TAKE_MS })) as string;
    this.taken.set(keyOf(target), taken);
    return taken;
  }

  /** The protected paths that were there when it was taken; undefined when it is lost. */
  async protectedPathsOf(
    target: SnapshotTarget,
    hash: string,
    signal: AbortSignal,
  ): Promise<readonly ProtectedPath[] | undefined> {
    const task = { ...this.placeOf(target), hash };
    const work = { name: 'protectedPathsOf', task, limitMs: CHANGES_MS } as const;
    return (await this.run(work, signal)) as readonly ProtectedPath[] | undefined;
  }

  /**
   * What has changed since that was taken; the contents as they are now are kept, too. Undefined where there are too many
   * files by now. Fails when what was taken is lost, and after two minutes of work.
   */
  async changesSince(
    target: SnapshotTarget,
    before: string,
    signal: AbortSignal = this.stopping.signal,
  ): Promise<readonly FileOperation[] | undefined> {
    const task = { ...this.placeOf(target), before };
    const work = { name: 'changes', task, limitMs: CHANGES_MS } as const;
    const found = (await this.run(work, signal)) as Changes | undefined;
    if (found?.isLost) this.taken.delete(keyOf(target));
    if (!found) return undefined;
    const operations: FileOperation[] = [];
    for await (const [piece] of inTurns(found.operations, 1)) {
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
    const work = { name: 'countUnkept', task: root, limitMs: COUNT_MS } as const;
    const count = (await this.run(work, limit)) as number | undefined;
    if (count === undefined) {
      return msg`The workspace has so many files that commands are refused until it has fewer.`;
    }
    if (count === 0) return null;
    const files = count === 1 ? phrase`1 file` : phrase`${count} files`;
    return msg`Changes of ${files} could not be undone: they are larger than 2 MiB, or beyond the first 20,000 files and 500 MiB of the workspace.`;
  }

  private placeOf(target: SnapshotTarget): Place {
    return { ...target, blobs: this.blobRoot };
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

/** As the thread of this service has written them. */
function operationsIn(piece: Uint8Array): readonly FileOperation[] {
  return JSON.parse(new TextDecoder().decode(piece)) as readonly FileOperation[];
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
