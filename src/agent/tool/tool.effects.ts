import { Injectable } from '@nestjs/common';
import { v7 } from 'uuid';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { processId } from '../../platform/lease/index.js';
import {
  ApprovalRepository,
  canonicalJson,
  EffectRepository,
  Grants,
  hashOf,
  subjectHash,
} from '../../effect/index.js';
import type {
  ApprovalAsk,
  ApprovalRow,
  Effect,
  NewEffect,
  SettledEffectState,
  TurnEffectClass,
  TurnOwner,
} from '../../effect/index.js';
import { ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolResult } from './agent-tool.js';

/** The turn that calls are recorded for. */
export interface TurnEffects extends Omit<TurnOwner, 'tenantId' | 'userId'> {
  /** The chat in which a person can allow a tool. */
  readonly chatSessionId?: number | undefined;
  /** A person sees the turn and can be asked. */
  readonly asks: boolean;
}

/** A call of a tool that is recorded. */
export interface RecordedCall {
  /** Id in the ledger. */
  readonly effectId: string;
  /** Number in the turn. */
  readonly number: number;
  /** The id by which the model knows the call. */
  readonly id: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** A call that waits for the consent of a person. */
export interface AskedCall {
  readonly number: number;
  /** Id in the ledger, by which the call is decided. */
  readonly effectId: string;
  readonly argumentsJson: string;
  readonly argumentsSha256: string;
  /** The person may allow the tool for the rest of the chat. */
  readonly grantable: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A call that has begun. */
export interface BegunCall<Input> {
  /** Its arguments, which a person may have changed. */
  readonly input: Input;
  /** For the model: what a person has changed. */
  readonly note: string;
}

export const UNKNOWN_OUTCOME =
  'It is not known whether the call was executed. Do not call the tool again for the same purpose: tell the user, who can find out and say so.';

const NO_PREVIEW = { command: null, files: [], diff: null, diffTruncated: false };

const STATES: Readonly<Record<Exclude<ToolResult['state'], 'uncertain'>, SettledEffectState>> = {
  done: 'SUCCEEDED',
  failed: 'FAILED',
  timeout: 'TIMED_OUT',
  stopped: 'CANCELLED',
};

/** Whether calls of the tool are recorded, because it changes something or a person is asked. */
export function isRecorded({ facts, consent }: AgentTool): boolean {
  return consent === 'ask' || facts?.readOnly === false;
}

/** Whether the outcome of a lost call is unknown, so that it must not be repeated. */
export function leavesUnknown({ facts }: AgentTool): boolean {
  return facts !== undefined && !facts.readOnly && !facts.idempotent;
}

/** The class of a recorded call. */
export function classOf(tool: AgentTool): TurnEffectClass {
  return leavesUnknown(tool) ? 'TOOL' : 'IDEMPOTENT';
}

/** The ledger of the calls of tools that change something, and the consents to them. */
@Injectable()
export class ToolEffects {
  constructor(
    private readonly database: Database,
    private readonly effects: EffectRepository,
    private readonly approvals: ApprovalRepository,
  ) {}

  /** Whether a person is asked before the call. */
  async asks(tool: AgentTool, caller: Caller, turn: TurnEffects): Promise<boolean> {
    return tool.consent === 'ask' && turn.asks && !(await this.isGranted(tool, caller, turn));
  }

  /** Stores calls with the request for a person's consent. */
  async ask(
    caller: Caller,
    turn: TurnEffects,
    calls: readonly { readonly call: RecordedCall; readonly tool: AgentTool }[],
  ): Promise<AskedCall[]> {
    const owner = ownerOf(caller, turn);
    const rows = await this.database.transaction(async () => {
      await this.effects.prepare(
        owner,
        calls.map(({ call, tool }) => newEffect(tool, call)),
      );
      const asks = calls.map(({ call, tool }) => askOf(tool, call, turn));
      return this.approvals.insert(owner, asks);
    });
    return rows.map((row) => ({
      number: calls.find(({ call }) => call.effectId === row.toolCallId)?.call.number ?? 0,
      effectId: row.toolCallId,
      argumentsJson: row.argumentsJson,
      argumentsSha256: row.argumentsSha256,
      grantable: row.grantable,
      expiresAt: row.expiresAt.getTime(),
    }));
  }

  /**
   * Writes down that the call begins. ToolFailure when it may not: the tool or a person refuses it, its arguments are not those of
   * the tool, or the outcome of the same call is unknown.
   */
  async begin<Input>(
    tool: AgentTool,
    call: RecordedCall,
    { caller, turn }: { readonly caller: Caller; readonly turn: TurnEffects },
    read: (argumentsJson: string) => Input,
  ): Promise<BegunCall<Input>> {
    const owner = ownerOf(caller, turn);
    const [stored] = await this.effects.ofCalls(owner.tenantId, [call.effectId]);
    const approval = stored && (await this.approvalOf(stored));
    if (approval) this.requireApproval(tool, approval);
    else await this.requireConsent(tool, caller, turn);
    const effect = stored ?? newEffect(tool, call);
    if (leavesUnknown(tool) && (await this.effects.isUnknown(owner, effect))) {
      throw new ToolFailure(
        `The same call of ${tool.name} was made before, and ${UNKNOWN_OUTCOME.replace('It', 'it')} Nothing was done now.`,
      );
    }
    const { argumentsJson } = effect;
    const input = read(argumentsJson);
    if (!stored) await this.effects.prepare(owner, [effect]);
    const start = { fence: null, boot: processId, operations: [] };
    if (!(await this.effects.start(owner, call.effectId, start))) {
      throw new ToolFailure(
        `The call of ${tool.name} has begun or ended before. Nothing was done now.`,
      );
    }
    const isEdited = stored !== undefined && argumentsJson !== canonicalJson(call.input);
    const note = isEdited
      ? `A person has changed the arguments of this call to ${argumentsJson}\n\n`
      : '';
    return { input, note };
  }

  /** Stores the outcome of a call that has begun. */
  async end(caller: Caller, effectId: string, { state, content }: ToolResult): Promise<void> {
    if (state === 'uncertain') await this.effects.markUncertain(caller, effectId);
    else await this.effects.finish(caller, effectId, { state: STATES[state], result: content });
  }

  private async approvalOf({
    tenantId,
    turnId,
    toolCallId,
  }: Effect): Promise<ApprovalRow | undefined> {
    const approvals = await this.approvals.ofTurn(tenantId, turnId ?? '');
    return approvals.findLast((approval) => approval.toolCallId === toolCallId);
  }

  private requireApproval(tool: AgentTool, approval: ApprovalRow): void {
    const { state, note, argumentsJson } = approval;
    if (state !== 'APPROVED') {
      const reason = note === null || note === '' ? '' : ` They say: ${note}`;
      throw new ToolFailure(`A person has refused this call, so it was not executed.${reason}`);
    }
    if (tool.consent === 'never') throw new ToolFailure(refusedAlways(tool));
    if (approval.subjectHash !== subjectHashOf(tool, JSON.parse(argumentsJson))) {
      throw new ToolFailure(
        `The tool ${tool.name} has changed since a person agreed to this call, so it was not executed. Call it again if it is still wanted.`,
      );
    }
  }

  private async requireConsent(tool: AgentTool, caller: Caller, turn: TurnEffects): Promise<void> {
    if (tool.consent === 'never') throw new ToolFailure(refusedAlways(tool));
    if (tool.consent !== 'ask' || caller.apiKey?.toolConsent === 'allow') return;
    if (await this.isGranted(tool, caller, turn)) return;
    throw new ToolFailure(
      `The tool ${tool.name} needs the consent of a person, and no one is asked here. It was not called. Answer without it, and say so.`,
    );
  }

  private async isGranted(
    tool: AgentTool,
    { tenantId }: Caller,
    { chatSessionId }: TurnEffects,
  ): Promise<boolean> {
    if (chatSessionId === undefined) return false;
    const grants: Grants = await this.approvals.allowedInChat(tenantId, chatSessionId);
    return grants.tool(subjectOf(tool));
  }
}

function refusedAlways({ name }: AgentTool): string {
  return `An administrator has switched off calls of ${name}. It was not called. Answer without it, and say so.`;
}

function subjectOf({ subject, name }: AgentTool): string {
  return subject ?? name;
}

/** Binds an approval to the tool as it is now and to these arguments. */
function subjectHashOf(tool: AgentTool, input: unknown): string {
  return subjectHash({ toolName: subjectOf(tool), input, operations: [] });
}

function ownerOf({ tenantId, userId }: Caller, { turnId, messageId }: TurnEffects): TurnOwner {
  return { tenantId, userId, turnId, messageId };
}

function newEffect(tool: AgentTool, { effectId, number, id, input }: RecordedCall): NewEffect {
  const argumentsJson = canonicalJson(input);
  return {
    toolCallId: effectId,
    iteration: 1,
    ordinal: number,
    providerCallId: id.slice(0, 200),
    toolName: tool.name,
    effectClass: classOf(tool),
    argumentsJson,
    argumentsSha256: hashOf(argumentsJson),
    input,
  };
}

function askOf(
  tool: AgentTool,
  { effectId, input }: RecordedCall,
  { chatSessionId }: TurnEffects,
): ApprovalAsk {
  const toolName = tool.name;
  return {
    toolCallId: effectId,
    toolName,
    argumentsJson: canonicalJson(input),
    summary: `call ${toolName}`,
    modelDescription: null,
    preview: NO_PREVIEW,
    subjectHash: subjectHashOf(tool, input),
    grants: chatSessionId === undefined ? [] : [{ kind: 'TOOL', subject: subjectOf(tool) }],
    notes: [],
  };
}

/** Id of a recorded call. */
export function newEffectId(): string {
  return v7();
}
