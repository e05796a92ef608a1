import { Injectable } from '@nestjs/common';
import { EffectRepository } from '../../store/effect.repository.js';
import type { HarnessEffect, HarnessRun } from '../../store/harness.entity.js';
import type { FileOperation } from '../../workspace/file-operation.js';
import { foldersOf } from '../../change/file-changes.js';
import { WorkspaceSnapshots } from '../../change/snapshot/workspace.snapshots.js';
import type { FileSelection } from './undo.selection.js';

/** Which folders a run has made, so that undoing it can remove them once they are empty. */
@Injectable()
export class MadeFolders {
  constructor(
    private readonly effects: EffectRepository,
    private readonly snapshots: WorkspaceSnapshots,
  ) {}

  /** The folders above the selected files that the calls have made which made the files. */
  async of(run: HarnessRun, selections: readonly FileSelection[]): Promise<ReadonlySet<string>> {
    const calls = new Set(
      selections.flatMap(({ changes }) => changes.map(({ toolCallId }) => toolCallId)),
    );
    const made = new Set<string>();
    for (const effect of await this.effects.ofRun(run)) {
      if (!calls.has(effect.toolCallId)) continue;
      for (const folder of await this.madeBy(effect)) made.add(folder);
    }
    return made;
  }

  private async madeBy(effect: HarnessEffect): Promise<readonly string[]> {
    const created = effect.operations.filter(({ op }) => op === 'CREATE');
    if (created.length === 0) return [];
    return effect.effectClass === 'SHELL'
      ? this.madeByCommand(effect, created)
      : created.flatMap(({ path, madeFolders = 0 }) => foldersOf(path).slice(0, madeFolders));
  }

  /** A command has made the folders that held no file before it. */
  private async madeByCommand(
    { tenantId, snapshotSha256 }: HarnessEffect,
    created: readonly FileOperation[],
  ): Promise<readonly string[]> {
    const before = snapshotSha256 && (await this.snapshots.load(tenantId, snapshotSha256));
    if (!before) return [];
    const known = new Set(before.manifest.flatMap(({ path }) => foldersOf(path)));
    return created.flatMap(({ path }) => foldersOf(path)).filter((folder) => !known.has(folder));
  }
}
