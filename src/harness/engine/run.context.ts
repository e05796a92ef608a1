import { Injectable } from '@nestjs/common';
import { DomainError } from '../../platform/error/index.js';
import { OpenStreams } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Lease } from '../../platform/lease/index.js';
import type { Message } from '../../platform/message/index.js';
import { UserCallers } from '../../identity/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { FencedError, RENEW_SECONDS, STOP_AFTER_SECONDS } from '../protocol/run.state.js';
import type { RunClaim } from '../protocol/run.state.js';
import { mayContinue } from '../protocol/policy.js';
import type { RunApprovalRow } from '../../effect/index.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { RunSkills } from '../store/message.repository.js';
import { Workspace } from '../workspace/workspace.js';
import { WorkspaceRoots } from '../workspace/workspace-roots.js';
import { HarnessSkills } from '../context/skills.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { RunStore } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import { english } from '../../platform/message/index.js';

/** A claimed run before anything else happens to it. */
export type ClaimedRun = Pick<RunContext, 'lease' | 'run' | 'workspace'>;

/** A run that this process holds and works on: what the loop, the model calls and the tool calls share. */
export interface RunContext {
  readonly lease: RunLease;
  /** The row as last read. Read again at the beginning of each step and after a tool call that changes the run. */
  run: HarnessRun;
  readonly workspace: Workspace;
  /** The user of the run, as of the claim. */
  readonly caller: Caller;
  /** The model, resolved again before each call. */
  model: ResolvedChatModel;
  readonly skills: RunSkills;
  /** SHA-256 by path of the files that the runs of the session have read or written; grows with the tool calls. */
  readonly observedFiles: Map<string, string>;
  /** Last approval, in any state, of each tool call that was open at the claim, by tool call. No later call has one: asking for it ends the claim. */
  readonly approvals: ReadonlyMap<string, RunApprovalRow>;
  /** Tokens that are sent at most: half of what was last too long for the model. Unknown until something was. */
  sendLimit?: number;
  /** The last call of the model was too long. */
  hasOverflowed?: boolean;
  /** Credentials that the run has used at the model service, masked in everything that leaves a tool. */
  secrets: readonly string[];
}

/**
 * Reason why the work for a run must end: another owner has the lease, the run is cancelled, the process stops, or the user
 * has lost a right that the run needs.
 */
export type StopCause = 'lost' | 'cancelled' | 'stopping' | 'revoked';

/** Renews the lease; undefined when it is lost. */
export type Renew = () => Promise<{ cancelRequested: boolean } | undefined>;

const TIMES = { renewMs: RENEW_SECONDS * 1_000, lostAfterMs: STOP_AFTER_SECONDS * 1_000 };

/** Time that a tool may continue after the process was asked to stop. */
const TOOL_GRACE_MS = 10_000;

/**
 * A run that this process holds. Renews its lease every 15 seconds until `end`; one that was not renewed for 30 seconds,
 * because the database fails or does not answer, counts as lost, before the database gives it to another process.
 */
export class RunLease {
  private readonly working = new AbortController();
  private readonly acting = new AbortController();
  private readonly renewal: Lease;
  private grace: NodeJS.Timeout | undefined;
  private stopped: StopCause | undefined;

  constructor(
    readonly claim: RunClaim,
    renew: Renew,
    private readonly stopping: AbortSignal,
  ) {
    this.renewal = new Lease(async () => {
      const renewed = await renew();
      if (!renewed) return new FencedError(claim);
      if (renewed.cancelRequested) this.stop('cancelled');
      return undefined;
    }, TIMES);
    this.renewal.signal.addEventListener('abort', () => this.stop('lost'));
    stopping.addEventListener('abort', this.onStopping);
    if (stopping.aborted) this.onStopping();
  }

  /** Reason why the work must end; undefined while it may continue. */
  get cause(): StopCause | undefined {
    return this.stopped;
  }

  /** Aborts as soon as there is a cause: for what can be done again, such as a call of the model. */
  get signal(): AbortSignal {
    return this.working.signal;
  }

  /** The same, but a stop of the process leaves 10 seconds, and a revoked right all the time: for what has an effect. */
  get effectSignal(): AbortSignal {
    return this.acting.signal;
  }

  /** Milliseconds since the last renewal; the database has counted the time before. */
  get activeMs(): number {
    return this.renewal.ageMs;
  }

  /** Renews now, and so learns of a cancel. */
  check(): void {
    void this.renewal.renewNow();
  }

  /** The user has lost a right that the run needs: a call of the model ends, a tool call that has begun is completed. */
  revoke(): void {
    this.stop('revoked');
  }

  /** Waits for a renewal that is under way, but not for one that comes too late. */
  async end(): Promise<void> {
    clearTimeout(this.grace);
    this.stopping.removeEventListener('abort', this.onStopping);
    await this.renewal.end();
  }

  private readonly onStopping = (): void => {
    this.stop('stopping');
    this.grace = setTimeout(() => this.acting.abort(), TOOL_GRACE_MS);
  };

  /** A later cause that is stronger replaces an earlier one: what is lost must not be written to. */
  private stop(cause: StopCause): void {
    const strength: readonly StopCause[] = ['revoked', 'stopping', 'cancelled', 'lost'];
    if (this.stopped && strength.indexOf(cause) <= strength.indexOf(this.stopped)) return;
    this.stopped = cause;
    this.working.abort();
    if (cause === 'cancelled' || cause === 'lost') this.acting.abort();
  }
}

/** The user may no longer let the harness work on the run in its permission mode: the run ends. */
export class PermissionRevokedError extends Error {
  override readonly name = 'PermissionRevokedError';
}

/** A tool call was executed and its outcome could not be stored: only recovery can tell what it has done. */
export class UnrecordedError extends Error {
  override readonly name = 'UnrecordedError';
}

/** The workspace is no longer below a configured root, or is no longer the folder that it was. */
export class WorkspaceRefusedError extends Error {
  override readonly name = 'WorkspaceRefusedError';

  constructor(readonly userMessage: Message) {
    super(english(userMessage));
  }
}

/** The user of the run with their permissions as of now; PermissionRevokedError when they no longer allow the run. */
export async function callerOf(callers: UserCallers, run: HarnessRun): Promise<Caller> {
  const { userId, homeTenantId, tenantId } = run;
  const caller = await callers.find({ userId, homeTenantId, tenantId });
  if (!caller || !mayContinue(caller, run)) throw new PermissionRevokedError();
  return caller;
}

/** Opens the workspace of a claimed run, and gathers what the work for it needs. */
@Injectable()
export class RunOpener {
  constructor(
    private readonly store: RunStore,
    private readonly roots: WorkspaceRoots,
    private readonly callers: UserCallers,
    private readonly models: ModelResolver,
    private readonly skills: HarnessSkills,
    private readonly sandbox: Sandbox,
    private readonly mask: SecretMask,
    private readonly streams: OpenStreams,
  ) {}

  /** The caller closes it. Undefined when the session is gone; WorkspaceRefusedError or WorkspaceGoneError. */
  async workspaceOf(run: HarnessRun): Promise<Workspace | undefined> {
    const session = await this.store.sessions.find(run.tenantId, run.sessionId);
    if (!session) return undefined;
    const { tenantId, workspace: root, workspaceIdentity } = session;
    await this.roots.check(tenantId, root, workspaceIdentity).catch((error: unknown) => {
      throw error instanceof DomainError ? new WorkspaceRefusedError(error.userMessage) : error;
    });
    return Workspace.open(root, workspaceIdentity);
  }

  /** The user of the run and its model as of now. PermissionRevokedError, and as resolving a model fails. */
  async modelOf(run: HarnessRun): Promise<Pick<RunContext, 'caller' | 'model'>> {
    const caller = await callerOf(this.callers, run);
    return { caller, model: await this.models.resolveChat(caller, run.modelName) };
  }

  /** Revokes the lease when the user loses a right that the run needs; the answer ends that. */
  watch({ caller, model, run, lease }: RunContext): () => void {
    const { signal, release } = this.streams.watch(
      caller,
      async (now) => mayContinue(now, run) && this.models.mayUse(now, model.id),
    );
    signal.addEventListener('abort', () => lease.revoke(), { once: true });
    return release;
  }

  async contextOf(claimed: ClaimedRun): Promise<RunContext> {
    const { lease, run, workspace } = claimed;
    const { caller, model } = await this.modelOf(run);
    const { credential } = model.connection;
    this.mask.learn([credential ?? '']);
    const skills = await this.skills.of(lease.claim, workspace.root, lease.signal);
    const [observedFiles, approvals] = await Promise.all([
      this.store.fileChanges.seenFiles(run),
      this.store.approvals.ofOpenCalls(run),
    ]);
    // Right after a start the probe of the sandbox may still be running.
    await this.sandbox.ready();
    return {
      ...claimed,
      caller,
      model,
      skills,
      observedFiles,
      approvals: new Map(approvals.map((approval) => [approval.toolCallId, approval])),
      secrets: credential === undefined ? [] : [credential],
    };
  }
}
