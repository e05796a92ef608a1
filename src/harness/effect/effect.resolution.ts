import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/index.js';
import { AuditLog } from '../../audit/index.js';
import { NotFoundError } from '../../error/index.js';
import { FileChanges } from '../change/file-changes.js';
import { UndoExecution } from '../change/undo/undo.execution.js';
import { stepIdOf } from '../event/event.catalogue.js';
import { RunLedger } from '../ledger/run.ledger.js';
import type { RunWriter } from '../ledger/run-writer.js';
import { MessageRepository } from '../message/message.repository.js';
import { isEnded } from '../protocol/run.state.js';
import { RunService } from '../run/run.service.js';
import type { ResolveEffectBody } from './effect.dto.js';
import type { HarnessEffect } from './effect.entity.js';
import { EffectNotUncertainError } from './effect.errors.js';
import { EffectRepository } from './effect.repository.js';
import type { EffectResolution } from './effect.repository.js';
import { toEffectView } from './effect.view.js';
import type { EffectView } from './effect.view.js';
import { ToolResults } from './tool.results.js';

export interface EffectKey {
  readonly sessionId: string;
  readonly runId: string;
  readonly toolCallId: string;
}

const FOUND = {
  EXECUTED:
    'The server stopped in the middle of this call. A person has looked: it was executed. Its output is lost, so look at the workspace before you rely on it.',
  NOT_EXECUTED:
    'The server stopped in the middle of this call. A person has looked: it was not executed. Call it again if it is still wanted.',
} as const;

/** What people say about tool calls of which nobody knows what they have done. */
@Injectable()
export class EffectResolutions {
  constructor(
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly messages: MessageRepository,
    private readonly results: ToolResults,
    private readonly changes: FileChanges,
    private readonly undos: UndoExecution,
    private readonly audit: AuditLog,
  ) {}

  /** All tool calls of one of the caller's runs, in the order in which the model asked for them. */
  async list(caller: Caller, sessionId: string, runId: string): Promise<EffectView[]> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    const effects = await this.effects.ofRun(run);
    return effects.map(toEffectView);
  }

  /**
   * Stores what the caller has found out, gives the model the call's result, and lets the run go on once nothing is
   * uncertain any more. The same resolution again is answered alike. EffectNotUncertainError for any other call; of a
   * run that has ended only the record changes.
   */
  async resolve(caller: Caller, key: EffectKey, body: ResolveEffectBody): Promise<EffectView> {
    const { run } = await this.runs.own(caller, key.sessionId, key.runId);
    const seen = await this.effects.find(run, key.toolCallId);
    if (!seen) throw new NotFoundError('The tool call');
    // Diffs are made from stored contents, which takes too long for a transaction.
    const wasWritten = body.resolution === 'EXECUTED' && seen.effectClass === 'FILE';
    const described = wasWritten && (await this.changes.describe(run, seen.operations));
    return this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      const effect = await this.effects.find(run, key.toolCallId);
      if (!effect) throw new NotFoundError('The tool call');
      if (effect.state !== 'UNCERTAIN') {
        if (effect.resolution === body.resolution) return toEffectView(effect);
        throw new EffectNotUncertainError(effect);
      }
      const found = resolutionOf(caller, body);
      await this.effects.resolve(run, effect.toolCallId, found);
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_effect',
        id: effect.toolCallId,
        detail: { resolution: found.resolution, runId: run.id },
      });
      if (!isEnded(writer.run.status)) {
        await this.tell(writer, effect, found);
        if (described) {
          writer.events(await this.changes.record(run, effect.toolCallId, described));
        }
        await this.goOn(writer);
      } else if (found.resolution === 'EXECUTED') {
        await this.undos.confirm(writer, effect);
      }
      const resolved = await this.effects.find(run, effect.toolCallId);
      return toEffectView(resolved ?? effect);
    });
  }

  private async tell(
    writer: RunWriter,
    effect: HarnessEffect,
    { state, result, resolution, resolvedBy: by, note, errorCode }: EffectResolution,
  ): Promise<void> {
    const { toolCallId, toolName, iteration } = effect;
    writer.event(
      'effect.resolved',
      { toolName, resolution, by, ...(note !== null && { note }) },
      { toolCallId, stepId: stepIdOf(iteration) },
    );
    const answered = await this.messages.answeredCalls(writer.run.tenantId, writer.run.id);
    if (answered.has(toolCallId)) return;
    const artifactId = effect.artifactId ?? undefined;
    const answer = { state, result, errorCode: errorCode ?? undefined, artifactId };
    await this.results.answer(writer, effect, answer);
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

function resolutionOf(caller: Caller, { resolution, note }: ResolveEffectBody): EffectResolution {
  const said = note === undefined ? '' : ` Note: ${note}`;
  const state = resolution === 'EXECUTED' ? 'SUCCEEDED' : 'NOT_EXECUTED';
  return {
    state,
    resolution,
    resolvedBy: caller.userId,
    note: note ?? null,
    result: `${FOUND[resolution]}${said}`,
    errorCode: resolution === 'EXECUTED' ? null : 'NOT_EXECUTED',
  };
}
