import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller } from '../../../platform/access/index.js';
import { DomainError, InvalidInputError, NotFoundError } from '../../../platform/error/index.js';
import { Artifacts } from '../../change/artifacts.js';
import { FileChanges } from '../../change/file-changes.js';
import { netChanges } from '../../change/net-change.js';
import type { NetChange } from '../../change/net-change.js';
import { selectionsOf, UndoInspection } from '../../engine/undo/undo.inspection.js';
import { ToolError } from '../../fault/tool.error.js';
import { isEnded } from '../../protocol/run.state.js';
import type { HarnessFileChange, HarnessRun } from '../../store/harness.entity.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { ModelSecrets } from '../../store/secret-mask.js';
import type { SessionRow } from '../../store/session.repository.js';
import { kindOf } from '../../workspace/file-operation.js';
import { relativePath } from '../../workspace/workspace-path.js';
import { Workspace } from '../../workspace/workspace.js';
import { RunService } from '../run/run.service.js';
import type { ArtifactContentQuery, RunDiffQuery } from './change.dto.js';
import { toArtifactView } from './change.view.js';
import type { ArtifactView, ChangedFileView, FileDiffView, RunDiffView } from './change.view.js';

/** All diffs of one answer. */
const DIFF_BYTES = 2 * 1024 * 1024;
const COMPARE_MS = 10_000;
/** How long the files of a workspace may be looked at to say which could be undone. */
const LOOK_MS = 10_000;

type Obstacle = Pick<ChangedFileView, 'reason' | 'message'>;

/** What runs have changed, for those who may see them. */
@Injectable()
export class RunChanges {
  constructor(
    private readonly runs: RunService,
    private readonly changes: FileChangeRepository,
    private readonly records: FileChanges,
    private readonly inspection: UndoInspection,
    private readonly secrets: ModelSecrets,
  ) {}

  /** The difference between the files before the run and after it, from what was kept; undone changes are left out. */
  async diff(
    caller: Caller,
    key: { readonly sessionId: string; readonly runId: string },
    { format = 'unified', path }: RunDiffQuery,
  ): Promise<RunDiffView> {
    const { run, session } = await this.runs.own(caller, key.sessionId, key.runId);
    await this.secrets.learn(caller, session);
    const below = path === undefined ? '' : placeOf(session.workspace, path);
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const nets = netChanges(rows.filter(({ undone }) => !undone)).filter(
      (net) => below === '' || net.path === below || net.path.startsWith(`${below}/`),
    );
    const files = await this.compare(run, nets);
    const { additions, deletions, etag } = await this.records.totalsOf(run.tenantId, nets);
    const truncated = files.some((file) => file.truncated);
    const text = files.map(({ diff }) => diff).join('');
    const shown = format === 'json' ? { files } : { text };
    return { ...shown, additions, deletions, etag, truncated };
  }

  /** The files that the run has changed, and whether each could be undone now. */
  async files(caller: Caller, sessionId: string, runId: string): Promise<ChangedFileView[]> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const obstacles = await this.obstacles(session, run, rows);
    const byPath = [...Map.groupBy(rows, ({ path }) => path)];
    const deadline = Date.now() + COMPARE_MS;
    const views: ChangedFileView[] = [];
    for (const [path, changes] of byPath.sort(([a], [b]) => (a < b ? -1 : 1))) {
      const open = changes.filter(({ undone }) => !undone);
      const undone = changes.filter((change) => change.undone);
      const [net] = netChanges(open.length > 0 ? open : changes);
      const obstacle = open.length === 0 ? UNDONE : obstacles(path);
      views.push({
        path,
        op: net?.op ?? changes.at(-1)?.op ?? 'UPDATE',
        kind: kindOf(net?.after?.mode ?? net?.before?.mode ?? 0),
        ...(net
          ? await this.records.countsOf(run.tenantId, net, deadline)
          : { additions: 0, deletions: 0 }),
        changeIds: open.map(({ id }) => id),
        undoneChangeIds: undone.map(({ id }) => id),
        undoable: obstacle === undefined,
        reason: obstacle?.reason ?? null,
        message: obstacle?.message ?? null,
      });
    }
    return views;
  }

  private async compare(
    { tenantId }: HarnessRun,
    nets: readonly NetChange[],
  ): Promise<FileDiffView[]> {
    const deadline = Date.now() + COMPARE_MS;
    const files: FileDiffView[] = [];
    let bytes = 0;
    for (const { path, op, before, after, changes } of nets) {
      const restorable = changes[0]?.restorable ?? false;
      const compared = await this.records.compareWithin(deadline, tenantId, {
        ...{ path, before, after, restorable },
      });
      const { additions, deletions, diff, diffTruncated } = compared;
      bytes += Buffer.byteLength(diff);
      const isFull = bytes > DIFF_BYTES;
      files.push({
        ...{ path, op, additions, deletions },
        kind: kindOf((after ?? before)?.mode ?? 0),
        diff: isFull ? '' : diff,
        truncated: diffTruncated || isFull,
      });
    }
    return files;
  }

  /** What is in the way of undoing each file. */
  private async obstacles(
    session: SessionRow,
    run: HarnessRun,
    rows: readonly HarnessFileChange[],
  ): Promise<(path: string) => Obstacle | undefined> {
    if (!isEnded(run.status) || session.activeRunId !== null) return () => RUN_ACTIVE;
    const open = new Set(rows.filter(({ undone }) => !undone).map(({ id }) => id));
    const { files, conflicts } = selectionsOf(rows, open, 'undo');
    let workspace: Workspace;
    try {
      workspace = await Workspace.open(session.workspace, session.workspaceIdentity);
    } catch (error) {
      if (error instanceof DomainError) return () => WORKSPACE_GONE;
      throw error;
    }
    try {
      const target = { tenantId: run.tenantId, workspace, madeFolders: new Set<string>() };
      const signal = AbortSignal.timeout(LOOK_MS);
      const found = await this.inspection.inspect(target, files, signal);
      const all = [...conflicts, ...found.conflicts];
      const byPath = new Map(all.map((conflict) => [conflict.path, conflict]));
      return (path) => byPath.get(path);
    } finally {
      await workspace.close();
    }
  }
}

const UNDONE: Obstacle = { reason: 'UNDONE', message: 'It is undone already.' };
const RUN_ACTIVE: Obstacle = {
  reason: 'RUN_ACTIVE',
  message: 'A run of the session is not finished.',
};
const WORKSPACE_GONE: Obstacle = {
  reason: 'WORKSPACE_GONE',
  message: 'The workspace was moved, removed or replaced.',
};

/** A path that a client gives, as changes are kept by. */
function placeOf(root: string, path: string): string {
  try {
    return relativePath(root, path);
  } catch (error) {
    throw error instanceof ToolError ? new InvalidInputError(error.message) : error;
  }
}

/** Types that a browser shows as a picture; everything else is sent as plain text, whatever it says it is. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

interface ArtifactRequest extends ArtifactContentQuery {
  readonly sessionId: string;
  readonly runId: string;
  readonly artifactId: string;
}

/** The artifacts of runs, for those who may see them. */
@Injectable()
export class RunArtifacts {
  constructor(
    private readonly runs: RunService,
    private readonly artifacts: Artifacts,
  ) {}

  /** Oldest first. */
  async list(caller: Caller, sessionId: string, runId: string): Promise<ArtifactView[]> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    const artifacts = await this.artifacts.ofRun(run);
    return artifacts.map(toArtifactView);
  }

  /** Writes the bytes asked for as an attachment that no browser runs; none behind the end. */
  async send(caller: Caller, request: ArtifactRequest, response: Response): Promise<void> {
    const { sessionId, runId, artifactId, offset = 0, length = Infinity } = request;
    const { run } = await this.runs.own(caller, sessionId, runId);
    const found = await this.artifacts.find(run, artifactId);
    if (!found?.bytes) throw new NotFoundError('The artifact');
    const { mediaType } = found.artifact;
    const picture = PICTURES.get(mediaType);
    response.status(200).attachment(`${artifactId}.${picture ?? 'txt'}`);
    response.set({
      'Content-Security-Policy': "sandbox; default-src 'none'",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    });
    // After attachment(), which sets the type that the name claims.
    response.setHeader('Content-Type', picture ? mediaType : 'text/plain; charset=utf-8');
    response.end(found.bytes.subarray(offset, offset + length));
  }
}
