import { Body, Controller, Get, Logger, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { ConflictError, NotFoundError } from '../../../platform/error/index.js';
import { closing } from '../../../platform/filesystem/index.js';
import {
  Answer,
  Answers,
  AnswersArray,
  Input,
  OK_MESSAGE,
  OneOf,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import { FileChanges } from '../../change/file-changes.js';
import type { DescribedChanges } from '../../change/file-changes.js';
import { ToolResults } from '../../engine/tool.results.js';
import { undoOf, UndoService } from '../../engine/undo/undo.service.js';
import { isEnded } from '../../protocol/run.state.js';
import { EffectRepository, RESOLUTIONS } from '../../../effect/index.js';
import type { FileOperation, RunEffect, ToolCallResolution } from '../../../effect/index.js';
import { stepIdOf } from '../../store/event.catalogue.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import type { SessionRow } from '../../store/run.repository.js';
import { Workspace } from '../../workspace/workspace.js';
import { UUID_TEXT, UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { EFFECT_STATES, EffectView, toEffectView } from './effect.view.js';

/** Exceeds the maximum number of tool calls per run (400). */
const EFFECTS_PER_PAGE = 500;

/** Maximum size of one page's arguments and operations, so that large calls do not fill the memory. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** A page of a run's tool calls. */
export class EffectListQuery extends Input({
  afterToolCallId: Text({
    optional: true,
    ...UUID_TEXT,
    description: 'The last tool call that one has; the first page without it',
  }),
  state: OneOf(EFFECT_STATES, { optional: true, description: 'Only those in this state' }),
  limit: Whole({
    optional: true,
    min: 1,
    max: 1_000,
    description: `Tool calls at most, ${EFFECTS_PER_PAGE} when absent; a page of large ones may end earlier`,
  }),
}) {}

@StrictFields()
export class ResolveEffectBody extends Input({
  resolution: OneOf(RESOLUTIONS, { description: 'What you have found out about the call' }),
  note: Text({ optional: true, max: 4_000, description: 'For the model, and for the record' }),
}) {}

type Described = DescribedChanges | undefined;

/** Time limit for inspecting the files of a call before its resolution is stored. */
const MAX_INSPECTION_MS = 20_000;

const FOUND = {
  EXECUTED:
    'The server stopped in the middle of this call. A person has looked: it was executed. Its output is lost, so look at the workspace before you rely on it.',
  NOT_EXECUTED:
    'The server stopped in the middle of this call. A person has looked: it was not executed. Call it again if it is still wanted.',
} as const;

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/effects')
export class EffectController {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly results: ToolResults,
    private readonly changes: FileChanges,
    private readonly undos: UndoService,
    private readonly audit: AuditLog,
  ) {}

  /**
   * A page of a run's tool calls and their outcomes: in the order in which the model requested them, then undos and redos.
   * Beside data: whether more follow.
   */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(EffectView, {
    more: { type: 'boolean', description: 'More follow; ask with the last id as afterToolCallId' },
  })
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() { afterToolCallId, state, limit = EFFECTS_PER_PAGE }: EffectListQuery,
  ): Promise<Answer<EffectView[]>> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
    const range = { after: afterToolCallId?.toLowerCase(), state, limit, bytes: PAGE_BYTES };
    const { effects, more } = await this.effects.page(run, range);
    return new Answer(effects.map(toEffectView), OK_MESSAGE, { more });
  }

  /** Records a person's finding about an UNCERTAIN tool call. */
  @Post(':toolCallId/resolution')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(EffectView)
  async resolve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('toolCallId', UuidPipe) toolCallId: string,
    @Body() body: ResolveEffectBody,
  ): Promise<EffectView> {
    const { run, session } = await this.runs.ownRun(caller, sessionId, runId);
    const storedEffect = await this.effects.find(run, toolCallId);
    if (!storedEffect) throw new NotFoundError(msg`The tool call`);
    // Diffs are made from stored contents, which takes too long for a transaction.
    const executed = body.resolution === 'EXECUTED';
    const described = executed ? await this.described(storedEffect, session) : undefined;
    return this.ledger.updateRun(run.tenantId, run.id, async (writer) => {
      const effect = await this.effects.find(run, toolCallId);
      if (!effect) throw new NotFoundError(msg`The tool call`);
      if (effect.state !== 'UNCERTAIN') {
        if (effect.resolution === body.resolution) return toEffectView(effect);
        throw new EffectNotUncertainError(effect);
      }
      const finding = resolutionOf(caller, body);
      await this.effects.resolve(run, effect.toolCallId, finding);
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_effect',
        id: effect.toolCallId,
        detail: { resolution: finding.resolution, runId: run.id },
      });
      await this.apply(writer, effect, { finding, described });
      return toEffectView((await this.effects.find(run, toolCallId)) ?? effect);
    });
  }

  /**
   * Gives the model the call's result, and resumes the run once no call is uncertain. Changes of an executed call count
   * among the run's changes, even when the run has ended: then only the record changes, and an event reports it to
   * readers who saw the call as uncertain.
   */
  private async apply(
    writer: RunWriter,
    effect: RunEffect,
    { finding, described }: { readonly finding: ToolCallResolution; readonly described: Described },
  ): Promise<void> {
    const { toolCallId, toolName, iteration } = effect;
    const { resolution, resolvedBy: by, note } = finding;
    const isLive = !isEnded(writer.run.status);
    const data = { toolName, resolution, by, ...(note !== null && { note }) };
    writer.event('effect.resolved', data, { toolCallId, stepId: stepIdOf(iteration) });
    if (isLive) await this.results.answer(writer, { ...effect, ...finding });
    if (described) writer.events(await this.changes.record(writer.run, toolCallId, described));
    if (isLive) await this.goOn(writer);
    else if (resolution === 'EXECUTED') await this.undos.confirm(writer, effect);
  }

  /** Changes of an executed call; undefined for an undo, which marks changes of its own. */
  private async described(effect: RunEffect, session: SessionRow): Promise<Described> {
    const { tenantId, runId: id, effectClass, operations } = effect;
    if (undoOf(effect)) return undefined;
    // Operations of a command were observed; those of a file change were planned and may be incomplete.
    const done = effectClass === 'FILE' ? await this.done(effect, session) : operations;
    return this.changes.describe({ tenantId, id }, done);
  }

  /** Operations whose files have changed; all of them when the workspace cannot be opened. */
  private async done(
    { tenantId, operations }: RunEffect,
    { workspace: root, workspaceIdentity }: SessionRow,
  ): Promise<readonly FileOperation[]> {
    try {
      const signal = AbortSignal.timeout(MAX_INSPECTION_MS);
      return await closing(await Workspace.open(root, workspaceIdentity), (workspace) =>
        this.changes.carriedOut({ tenantId, workspace }, operations, signal),
      );
    } catch (error) {
      this.logger.warn({ msg: 'Failed to inspect files of an uncertain call', err: error });
      return operations;
    }
  }

  private async goOn(writer: RunWriter): Promise<void> {
    if (writer.current.waitKind !== 'EFFECT') return;
    const { tenantId, id } = writer.run;
    const open = await this.effects.openOf(tenantId, [id]);
    if (open.some(({ state }) => state === 'UNCERTAIN')) return;
    writer.set({ errorCode: null, errorMessage: null });
    writer.enqueue('effects_resolved');
  }
}

function resolutionOf(caller: Caller, { resolution, note }: ResolveEffectBody): ToolCallResolution {
  const noteText = note === undefined ? '' : ` Note: ${note}`;
  const state = resolution === 'EXECUTED' ? 'SUCCEEDED' : 'NOT_EXECUTED';
  return {
    state,
    resolution,
    resolvedBy: caller.userId,
    note: note ?? null,
    result: `${FOUND[resolution]}${noteText}`,
    errorCode: resolution === 'EXECUTED' ? null : 'NOT_EXECUTED',
  };
}

/** The call needs no resolution: it is still to run, has a known outcome, or was resolved otherwise. */
class EffectNotUncertainError extends ConflictError {
  constructor({ toolCallId, state, resolution }: RunEffect) {
    super(
      msg`This tool call is ${state}, not UNCERTAIN, so nothing was changed. Reload the effects of the run.`,
      { data: { errorCode: 'EFFECT_NOT_UNCERTAIN', toolCallId, state, resolution } },
    );
  }
}
