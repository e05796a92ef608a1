import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { DomainError, InvalidInputError, NotFoundError } from '../../../platform/error/index.js';
import {
  Answer,
  Answers,
  AnswersArray,
  AnswersFile,
  Flag,
  Ids,
  Input,
  localized,
  NoEnvelope,
  OK_MESSAGE,
  OneOf,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { closing, SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import { literal, msg, sentences } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { Artifacts } from '../../change/blob.store.js';
import { FileChanges, foldersOf, netChanges } from '../../change/file-changes.js';
import type { NetChange } from '../../change/file-changes.js';
import { selectionsOf, UndoInspection } from '../../engine/undo/undo.inspection.js';
import { UndoService } from '../../engine/undo/undo.service.js';
import type { UndoResult } from '../../engine/undo/undo.service.js';
import { ToolError, kindOf } from '../../protocol/tool-call.js';
import { isEnded } from '../../protocol/run.state.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import type { HarnessFileChange, HarnessRun } from '../../store/harness.entity.js';
import { ModelSecrets } from '../../store/secret-mask.js';
import type { SessionRow } from '../../store/run.repository.js';
import { relativePath } from '../../workspace/workspace-path.js';
import { Workspace } from '../../workspace/workspace.js';
import { UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import {
  ArtifactView,
  ChangedFileView,
  filePage,
  filePageFields,
  FilePageQuery,
  RunDiffView,
  UndoResultView,
} from './change.view.js';
import type { FileDiffView } from './change.view.js';

export class RunDiffQuery extends Input({
  ...filePageFields,
  format: OneOf(['unified', 'json'], {
    optional: true,
    description: 'One text, or file by file; unified when not given',
  }),
  path: Text({
    optional: true,
    max: 4_096,
    description: 'Only this file, or what lies in this folder',
  }),
}) {}

export class ArtifactContentQuery extends Input({
  offset: Whole({ optional: true, min: 0, description: 'First byte; 0 when not given' }),
  length: Whole({
    optional: true,
    min: 1,
    description: 'Bytes at most; to the end when not given',
  }),
}) {}

@StrictFields()
export class UndoBody extends Input({
  changeIds: Ids({
    optional: true,
    description: 'Changes of the run (see …/files); without them, all',
  }),
  force: Flag({
    optional: true,
    description: 'Leave out the files that are in the way, instead of refusing everything',
  }),
}) {}

/** Types that a browser shows as a picture; everything else is sent as plain text, whatever it says it is. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

/** Maximum size of all diffs of one answer. */
const MAX_DIFF_BYTES = 2 * 1024 * 1024;
const COMPARE_MS = 10_000;
/** Time limit for inspecting which files could be undone. */
const MAX_INSPECTION_MS = 10_000;

type Obstacle = Pick<ChangedFileView, 'reason'> & { readonly message: Message };

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
@RequirePermission('coding:harness:use')
export class ChangeController {
  constructor(
    private readonly runs: RunService,
    private readonly changes: FileChangeRepository,
    private readonly records: FileChanges,
    private readonly inspection: UndoInspection,
    private readonly secrets: ModelSecrets,
    private readonly artifacts: Artifacts,
  ) {}

  /** Diff of a page of the run's changed files; undone changes are left out. */
  @Get('diff')
  @Answers(RunDiffView)
  async diff(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() { format = 'unified', path, ...query }: RunDiffQuery,
  ): Promise<RunDiffView> {
    const { run, session } = await this.runs.ownRun(caller, sessionId, runId);
    await this.secrets.learn(caller, run);
    const below = path === undefined ? '' : placeOf(session.workspace, path);
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const open = rows.filter(({ undone }) => !undone);
    const nets = (await netChanges(open)).filter(
      (net) => below === '' || net.path === below || net.path.startsWith(`${below}/`),
    );
    const { files: shownNets, more } = filePage(nets, query);
    const files = await this.compare(run, shownNets);
    const { additions, deletions, etag } = await this.records.totalsOf(run.tenantId, nets);
    const cut = files.filter((file) => file.truncated).length;
    const text = files.map(({ diff }) => diff).join('');
    return {
      ...(format === 'json' ? { files } : { text }),
      additions,
      deletions,
      etag,
      truncated: cut > 0 || more,
      total: nets.length,
      more,
      notice: noticeOf(cut, files.length, nets.length),
    };
  }

  /**
   * The files that the run has changed in the order of their paths, and whether each could be undone; a page of them. A
   * file that is at the end as it was at the beginning, such as one that was made and removed, is left out.
   * Beside data: how many there are, whether more follow, and the folders of which changes by commands are not recorded.
   */
  @Get('files')
  @AnswersArray(ChangedFileView, {
    total: { type: 'integer', description: 'Files of all pages' },
    more: { type: 'boolean', description: 'More follow on the next page' },
    untracked: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names of folders, at any depth, of which changes by commands are not recorded',
    },
  })
  async files(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() query: FilePageQuery,
  ): Promise<Answer<ChangedFileView[]>> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const byPath = Map.groupBy(rows, ({ path }) => path);
    const nets = await netChanges([...byPath.values()].flatMap(openOrUndone));
    const { files: page, more } = filePage(nets, query);
    const paths = new Set(page.map(({ path }) => path));
    const obstacles = await this.obstacles(session, run, relatedTo(paths, rows));
    const deadline = Date.now() + COMPARE_MS;
    const counts = await this.records.countsOf(run.tenantId, page, deadline);
    const views = page.map(({ path, op, before, after }, index): ChangedFileView => {
      const changes = byPath.get(path) ?? [];
      const open = changes.filter(({ undone }) => !undone);
      const obstacle = open.length === 0 ? UNDONE : obstacles(path);
      const { additions = null, deletions = null } = counts[index] ?? {};
      return {
        path,
        op,
        additions,
        deletions,
        kind: kindOf((after ?? before)?.mode ?? 0),
        changeIds: open.map(({ id }) => id),
        undoneChangeIds: changes.filter(({ undone }) => undone).map(({ id }) => id),
        undoable: obstacle === undefined,
        reason: obstacle?.reason ?? null,
        message: localized(obstacle?.message ?? null),
      };
    });
    const untracked = [...SKIPPED_FOLDERS];
    return new Answer(views, OK_MESSAGE, { total: nets.length, more, untracked });
  }

  /** The complete outputs of the run's tools, and the images of its requirement. */
  @Get('artifacts')
  @AnswersArray(ArtifactView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ArtifactView[]> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
    const artifacts = await this.artifacts.ofRun(run);
    return artifacts.map((artifact) =>
      ArtifactView.of({
        ...artifact,
        artifactId: artifact.id,
        createdAt: artifact.createTime,
      }),
    );
  }

  /** The bytes of an artifact, or some of them, as a file to download: an image, or plain text. */
  @Get('artifacts/:artifactId')
  @NoEnvelope()
  @AnswersFile('*/*', 'The bytes of the artifact')
  async artifact(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('artifactId', UuidPipe) artifactId: string,
    @Query() { offset = 0, length = Infinity }: ArtifactContentQuery,
    @Res() response: Response,
  ): Promise<void> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
    const stored = await this.artifacts.find(run, artifactId);
    if (!stored?.bytes) throw new NotFoundError(msg`The artifact`);
    const { mediaType } = stored.artifact;
    const picture = PICTURES.get(mediaType);
    response.status(200).attachment(`${artifactId}.${picture ?? 'txt'}`);
    response.set({
      'Content-Security-Policy': "sandbox; default-src 'none'",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    });
    // Set after attachment(), which sets the type that the name claims.
    response.setHeader('Content-Type', picture ? mediaType : 'text/plain; charset=utf-8');
    response.end(stored.bytes.subarray(offset, offset + length));
  }

  private async compare(
    { tenantId }: HarnessRun,
    nets: readonly NetChange[],
  ): Promise<FileDiffView[]> {
    const deadline = Date.now() + COMPARE_MS;
    const compared = await this.records.compareWithin(deadline, tenantId, nets);
    const files: FileDiffView[] = [];
    let bytes = 0;
    for (const [index, { additions, deletions, diff, diffTruncated }] of compared.entries()) {
      const net = nets[index];
      if (!net) break;
      const { path, op, before, after } = net;
      bytes += Buffer.byteLength(diff);
      const isFull = bytes > MAX_DIFF_BYTES;
      files.push({
        path,
        op,
        additions,
        deletions,
        kind: kindOf((after ?? before)?.mode ?? 0),
        diff: isFull ? '' : diff,
        truncated: diffTruncated || isFull,
      });
    }
    return files;
  }

  /** Reasons why each file cannot be undone. */
  private async obstacles(
    session: SessionRow,
    run: HarnessRun,
    rows: readonly HarnessFileChange[],
  ): Promise<(path: string) => Obstacle | undefined> {
    if (!isEnded(run.status) || session.activeRunId !== null) return () => RUN_ACTIVE;
    const open = new Set(rows.filter(({ undone }) => !undone).map(({ id }) => id));
    const { files, conflicts } = selectionsOf(rows, open, 'undo');
    const { workspace: root, workspaceIdentity } = session;
    const workspace = await Workspace.open(root, workspaceIdentity).catch((error: unknown) => {
      if (error instanceof DomainError) return undefined;
      throw error;
    });
    if (!workspace) return () => WORKSPACE_GONE;
    return closing(workspace, async () => {
      const target = { tenantId: run.tenantId, workspace, madeFolders: new Set<string>() };
      const signal = AbortSignal.timeout(MAX_INSPECTION_MS);
      const inspected = await this.inspection.inspect(target, files, signal);
      const all = [...conflicts, ...inspected.conflicts];
      const byPath = new Map(all.map((conflict) => [conflict.path, conflict]));
      return (path) => byPath.get(path);
    });
  }
}

/** Changes of one file that are not undone, or all of them when each is undone. */
function openOrUndone(changes: readonly HarnessFileChange[]): readonly HarnessFileChange[] {
  const open = changes.filter(({ undone }) => !undone);
  return open.length > 0 ? open : changes;
}

/** Notice of omissions in a diff that shows `shownCount` files of `all`; null when it is complete. */
function noticeOf(cut: number, shownCount: number, all: number): string | null {
  const parts: Message[] = [];
  if (cut > 0) {
    parts.push(
      msg`The diffs of ${cut} files are cut or left out. Ask for them one by one with path.`,
    );
  }
  if (shownCount < all) {
    parts.push(
      msg`These are ${shownCount} of ${all} changed files. Ask for the others with pageNum.`,
    );
  }
  return parts.length === 0 ? null : localized(sentences(parts));
}

/** The changes of the paths, and of what is above or below one of them: what may be in its place. */
function relatedTo(
  paths: ReadonlySet<string>,
  rows: readonly HarnessFileChange[],
): HarnessFileChange[] {
  const above = new Set([...paths].flatMap((path) => foldersOf(path)));
  return rows.filter(
    ({ path }) =>
      paths.has(path) || above.has(path) || foldersOf(path).some((folder) => paths.has(folder)),
  );
}

const UNDONE: Obstacle = { reason: 'UNDONE', message: msg`It is undone already.` };
const RUN_ACTIVE: Obstacle = {
  reason: 'RUN_ACTIVE',
  message: msg`A run of the session is not finished.`,
};
const WORKSPACE_GONE: Obstacle = {
  reason: 'WORKSPACE_GONE',
  message: msg`The workspace was moved, removed or replaced.`,
};

/** A client's path in the form in which changes are stored. */
function placeOf(root: string, path: string): string {
  try {
    return relativePath(root, path);
  } catch (error) {
    throw error instanceof ToolError ? new InvalidInputError(literal(error.message)) : error;
  }
}

function shownUndo({ conflicts, ...result }: UndoResult): UndoResultView {
  const views = conflicts.map((conflict) => ({
    ...conflict,
    message: localized(conflict.message),
  }));
  return { ...result, conflicts: views };
}

/** Routes check coding:harness:write themselves unless the session is READ_ONLY. */
@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
@RequirePermission('coding:harness:use')
export class UndoController {
  constructor(
    private readonly runs: RunService,
    private readonly undos: UndoService,
  ) {}

  /** Undoes changes of a finished run. Needs coding:harness:write, too. */
  @Post('undo')
  @Answers(UndoResultView)
  async apply(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    return shownUndo(
      await this.undos.perform(caller, { ...body, session, run, direction: 'undo' }),
    );
  }

  /** Redoes undone changes. Needs coding:harness:write, too. */
  @Post('redo')
  @Answers(UndoResultView)
  async redo(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: UndoBody,
  ): Promise<UndoResultView> {
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    return shownUndo(
      await this.undos.perform(caller, { ...body, session, run, direction: 'redo' }),
    );
  }
}
