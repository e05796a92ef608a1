import { Injectable, Logger } from '@nestjs/common';
import { Artifacts } from '../change/artifacts.js';
import { BlobStore } from '../change/blob.store.js';
import type { FileOperation } from '../workspace/file-operation.js';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import type { HarnessEffect, HarnessRun } from '../store/harness.entity.js';
import { Sandbox } from '../sandbox/sandbox.js';
import type { Workspace } from '../workspace/workspace.js';
import { PartialOutputs } from './partial.outputs.js';

export interface CommandTrace {
  /** The files that have changed since the snapshot before it; undefined where that cannot be told. */
  readonly operations: readonly FileOperation[] | undefined;
  /** What it had written a few seconds before; on disk among the kept contents. */
  readonly output: Buffer | undefined;
}

/** Finds what a command has left in the workspace of which nobody knows how it has ended. */
@Injectable()
export class CommandTraces {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly snapshots: WorkspaceSnapshots,
    private readonly sandbox: Sandbox,
    private readonly outputs: PartialOutputs,
    private readonly artifacts: Artifacts,
    private readonly blobs: BlobStore,
  ) {}

  /** Takes minutes at most: call it outside of a transaction, when nothing of the command runs any more. */
  async find(
    effect: HarnessEffect,
    workspace: Workspace,
    signal: AbortSignal,
  ): Promise<CommandTrace> {
    const operations = await this.changes(effect, workspace, signal);
    const output = await this.outputs.read(effect);
    if (output) await this.blobs.put(effect.tenantId, output);
    return { operations, output };
  }

  /** Makes the output an artifact of the run, joining an open transaction; undefined when there is none, or no room. */
  async keep(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    { toolCallId }: HarnessEffect,
    { output: bytes }: CommandTrace,
  ): Promise<string | undefined> {
    const mediaType = 'text/plain; charset=utf-8';
    return bytes && this.artifacts.keep(run, { toolCallId, kind: 'output', mediaType, bytes });
  }

  /** After the transaction in which everything was stored. */
  async forget(effect: HarnessEffect): Promise<void> {
    await this.outputs.remove(effect);
  }

  private async changes(
    { tenantId, runId, toolCallId, snapshotSha256 }: HarnessEffect,
    { root }: Workspace,
    signal: AbortSignal,
  ): Promise<FileOperation[] | undefined> {
    try {
      await this.sandbox.tidy(root, signal);
      const before = snapshotSha256 && (await this.snapshots.load(tenantId, snapshotSha256));
      if (!before) return undefined;
      return await this.snapshots.changesSince({ tenantId, root }, before, signal);
    } catch (error) {
      signal.throwIfAborted();
      const msg = 'What an interrupted command has changed could not be found out';
      this.logger.warn({ msg, runId, toolCallId, err: error });
      return undefined;
    }
  }
}
