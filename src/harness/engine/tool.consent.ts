import { Injectable, Logger } from '@nestjs/common';
import { UserCallers } from '../../identity/index.js';
import type { Comparison } from '../change/file-changes.js';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import { ToolError } from '../protocol/tool-call.js';
import type { PlannedFile } from '../protocol/tool-call.js';
import { decidePolicy } from '../protocol/policy.js';
import type { PolicySubject } from '../protocol/policy.js';
import { cutLines, shortened, visibleLine } from '../protocol/values.js';
import type {
  ApprovalAsk,
  ApprovalPreview,
  FileOperation,
  GrantSubject,
  PreviewFile,
  RunApprovalRow,
  RunEffect,
} from '../../effect/index.js';
import { availableDecisions, subjectHash } from '../../effect/index.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run.ledger.js';
import { RunStore } from '../store/run.ledger.js';
import { HarnessSwitches } from '../store/run.repository.js';
import { SecretMask } from '../store/secret-mask.js';
import { givenArguments } from '../tool/tool.js';
import type { BoundCall } from '../tool/tool.js';
import { callerOf } from './run.context.js';
import type { RunContext } from './run.context.js';
import { english } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

/** Effect of a call, for the policy and for the person who may be asked. */
export interface Intent {
  readonly subject: PolicySubject;
  readonly operations?: readonly FileOperation[];
  /** Grants that a consent for the session gives. */
  readonly grants?: readonly GrantSubject[];
  /** View of the call for the person; only its title when absent. */
  readonly shownCall?: () => Promise<ShownCall>;
  readonly notes?: () => Promise<readonly Message[]>;
}

/** The call that may need consent. */
interface AskedCall extends Pick<BoundCall, 'title' | 'modelDescription'> {
  readonly context: RunContext;
  readonly effect: RunEffect;
}

/**
 * Decides whether a tool call may be executed: by the policy, by what people have granted, and by the operator's switch.
 * Asks a person where the policy says so.
 */
@Injectable()
export class ToolConsent {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly store: RunStore,
    private readonly switches: HarnessSwitches,
    private readonly callers: UserCallers,
    private readonly snapshots: WorkspaceSnapshots,
    private readonly mask: SecretMask,
  ) {}

  /**
   * Undefined when the call may be executed: the policy allows it, or a person has agreed to exactly this. Otherwise what
   * a person is to be asked. ToolError when the policy refuses, APPROVAL_STALE when a person has agreed to something else.
   */
  async ask(
    { context, effect, title, modelDescription }: AskedCall,
    { subject, operations = [], grants = [], shownCall, notes = async () => [] }: Intent,
  ): Promise<ApprovalAsk | undefined> {
    const { run, approvals, secrets } = context;
    const { toolCallId, toolName, argumentsJson } = effect;
    const approval = approvals.get(toolCallId);
    const hash = subjectHash({ toolName, input: givenArguments(effect), operations });
    const isApproved = approval?.state === 'APPROVED';
    if (isApproved && approval.subjectHash !== hash) {
      throw new ToolError(
        'APPROVAL_STALE',
        'Not run: the files have changed since a person agreed to this call. Read them again and repeat the call.',
      );
    }
    const decision = decidePolicy(run, subject);
    if (decision.verdict === 'deny') throw new ToolError(decision.code, decision.message);
    if (decision.verdict === 'allow' || isApproved) return undefined;
    return {
      toolCallId,
      toolName,
      subjectHash: hash,
      argumentsJson: this.mask.apply(argumentsJson, secrets),
      modelDescription: modelDescription ? this.mask.apply(modelDescription, secrets) : null,
      ...(shownCall ? await shownCall() : shownTitle(this.mask.apply(title, secrets))),
      grants: decision.grantable ? grants : [],
      notes: await notes(),
    };
  }

  /** View of a command for the person. */
  shownCommand({ secrets }: RunContext, command: string): ShownCall {
    return shownCommand(this.mask.apply(command, secrets));
  }

  /** Notes for the approver about undoing a command. A failed or slow inspection never blocks the question. */
  async undoNotes({ workspace, lease }: RunContext): Promise<Message[]> {
    const note = await this.snapshots
      .restorable(workspace, lease.signal)
      .catch((error: unknown) => {
        const { runId } = lease.claim;
        this.logger.warn({ msg: 'Failed to determine undoable changes', runId, err: error });
        return null;
      });
    return note === null ? [] : [note];
  }

  /** Parks the run until the asks are answered. */
  async park({ lease }: RunContext, asks: readonly ApprovalAsk[]): Promise<void> {
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      const rows = await this.requestApprovals(writer, asks);
      writer.park('TOOL');
      const pendingApprovals = rows.map(({ id }) => id);
      writer.event('run.waiting_for_approval', { ...writer.statusData, pendingApprovals });
    });
  }

  /** Stores the asks as pending and adds their events. Parking the run, in the same transaction, is the caller's. */
  async requestApprovals(
    writer: RunWriter,
    asks: readonly ApprovalAsk[],
  ): Promise<RunApprovalRow[]> {
    if (asks.length === 0) return [];
    const { run } = writer;
    const rows = await this.store.approvals.insert(run, asks);
    for (const row of rows) {
      const { id: approvalId, toolCallId, toolName, summary, argumentsSha256, argumentsJson } = row;
      const { modelDescription, preview } = row;
      writer.event(
        'approval.requested',
        {
          approvalId,
          toolName,
          summary,
          modelDescription,
          ...preview,
          argumentsSha256,
          argumentsJson,
          state: 'PENDING',
          expectedRevision: row.revision,
          expiresAt: row.expiresAt.getTime(),
          available: availableDecisions(row.grantable),
          notes: row.notes.map(english),
        },
        { stepId: stepIdOf(run.iteration), toolCallId, approvalId },
      );
    }
    return rows;
  }

  /** ToolError WRITES_DISABLED while an operator has stopped changes; PermissionRevokedError. */
  async requireWrites({ run }: RunContext): Promise<void> {
    if (!(await this.switches.writesEnabled())) {
      throw new ToolError(
        'WRITES_DISABLED',
        'An operator has stopped all changes for now. Tell the user what is left to do, and stop.',
      );
    }
    await callerOf(this.callers, run);
  }
}

/** View of a call for the person who is asked, made from its arguments alone. */
export interface ShownCall {
  readonly summary: string;
  readonly preview: ApprovalPreview;
}

const MAX_SUMMARY_CHARS = 400;
const MAX_NAMED_FILES = 5;
const MAX_PATH_CHARS = 200;
/** All diffs of one call. */
const MAX_DIFF_BYTES = 64 * 1024;

const VERBS = { CREATE: 'create', UPDATE: 'change', DELETE: 'delete' } as const;

const NO_PREVIEW: ApprovalPreview = {
  command: null,
  files: [],
  diff: null,
  diffTruncated: false,
};

/** A call that neither runs a command nor changes a file. */
function shownTitle(title: string): ShownCall {
  return { summary: shortened(title, MAX_SUMMARY_CHARS), preview: NO_PREVIEW };
}

/** The command itself; a long one is cut in the middle of the summary, and is whole in the preview. */
export function shownCommand(command: string): ShownCall {
  return {
    summary: `run ${shortened(visibleLine(command), MAX_SUMMARY_CHARS)}`,
    preview: { ...NO_PREVIEW, command },
  };
}

/** The files, the size of their change, and its diff. */
export function shownFiles(
  planned: readonly PlannedFile[],
  comparisons: readonly Comparison[],
): ShownCall {
  const files = planned.map(({ operation: { path, op, before, after } }, index): PreviewFile => {
    const { additions = null, deletions = null } = comparisons[index] ?? {};
    const sizes = { sizeBefore: before?.size ?? null, sizeAfter: after?.size ?? null };
    return { path, op, additions, deletions, ...sizes };
  });
  const named = files.slice(0, MAX_NAMED_FILES).map(fileText);
  const more = files.length - named.length;
  const { text, cut } = cutLines(comparisons.map(({ diff }) => diff).join(''), MAX_DIFF_BYTES);
  return {
    summary: `${named.join('; ')}${more > 0 ? `; and ${more} more files` : ''}`,
    preview: {
      command: null,
      files,
      diff: text,
      diffTruncated: cut || comparisons.some(({ diffTruncated }) => diffTruncated),
    },
  };
}

function fileText(file: PreviewFile): string {
  const { path, op, additions, deletions, sizeBefore, sizeAfter } = file;
  const size =
    additions === null || deletions === null
      ? `${sizeBefore ?? 0} to ${sizeAfter ?? 0} bytes`
      : `+${additions} -${deletions} lines`;
  return `${VERBS[op]} ${shownPath(path)} (${size})`;
}

/** Quoted where it could be taken for the end of one file and the beginning of another. */
function shownPath(path: string): string {
  const line = shortened(visibleLine(path), MAX_PATH_CHARS);
  return /;|"| \(/.test(line) ? JSON.stringify(line) : line;
}
