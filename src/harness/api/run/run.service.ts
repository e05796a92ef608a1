import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import {
  ConflictError,
  DomainError,
  InvalidInputError,
  TooManyRequestsError,
} from '../../../platform/error/index.js';
import { currentSpan } from '../../../platform/tracing/index.js';
import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import {
  ModelNotFoundError,
  ModelResolver,
  ModelService,
  UpstreamCalls,
  WrongCategoryError,
} from '../../../model/index.js';
import type { ModelUse, ResolvedChatModel } from '../../../model/index.js';
import { ProviderUnavailableError, UpstreamError } from '../../../provider/index.js';
import type { ChatCall, FinishReason } from '../../../provider/index.js';
import { budgetOf, readImages, RUN_QUEUE, SERVER_BUDGET, toRunView } from './run.dto.js';
import type { CreateRunBody, RunImage, RunListQuery, RunParts, RunView } from './run.dto.js';
import { Artifacts, BlobStore } from '../../change/blob.store.js';
import { isWithin, requireWrite } from '../../protocol/policy.js';
import type { PermissionMode } from '../../protocol/policy.js';
import { isEnded } from '../../protocol/run.state.js';
import { newId, requestHash, sha256 } from '../../protocol/values.js';
import { ApprovalRepository, EffectRepository } from '../../../effect/index.js';
import {
  IdempotencyConflictError,
  RunNotFoundError,
  SessionDeletedError,
  SessionNotFoundError,
  WritesDisabledError,
} from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { MessageRepository } from '../../store/message.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import {
  HarnessSwitches,
  RunInputRepository,
  RunRepository,
  SessionRepository,
} from '../../store/run.repository.js';
import type { NewRun, SessionRow } from '../../store/run.repository.js';

/** Reason why a model cannot be used; the code is for clients, the message for people. */
type ModelFault =
  | 'MODEL_NOT_FOUND'
  | 'MODEL_NOT_CHAT'
  | 'MODEL_NO_TOOLS'
  | 'MODEL_NO_VISION'
  | 'MODEL_UNAVAILABLE';

class ModelRefusedError extends InvalidInputError {
  constructor(
    readonly errorCode: ModelFault,
    message: Message,
    modelName: string,
  ) {
    super(message, { data: { errorCode, modelName } });
  }
}

const FAULTS = [
  [ModelNotFoundError, 'MODEL_NOT_FOUND'],
  [WrongCategoryError, 'MODEL_NOT_CHAT'],
  [ProviderUnavailableError, 'MODEL_UNAVAILABLE'],
] as const;

/** Whether the harness can work with a model. */
@Injectable()
export class HarnessModels {
  /** Running probes: sessions that one user or key creates at once with a model share one. */
  private readonly probes = new Map<string, Promise<ProbeResult>>();

  constructor(
    private readonly resolver: ModelResolver,
    private readonly models: ModelService,
    private readonly calls: UpstreamCalls,
  ) {}

  /**
   * The chat model of exactly the name. If it is unknown whether it calls tools, it is probed once and the result is
   * stored. Fails with ModelRefusedError.
   */
  async forSession(caller: Caller, modelName: string): Promise<ResolvedChatModel> {
    const model = await this.named(caller, modelName);
    if (model.supportsTools === undefined) await this.tryTools(caller, model);
    return model;
  }

  /**
   * The model of a new run. That of the session (`isTried`) may have changed since; another one is treated as the model of
   * a new session.
   */
  async forRun(
    caller: Caller,
    modelName: string,
    { images, isTried }: { readonly images: boolean; readonly isTried: boolean },
  ): Promise<ResolvedChatModel> {
    const model = await (isTried
      ? this.named(caller, modelName)
      : this.forSession(caller, modelName));
    if (images && model.supportsVision === false) {
      throw new ModelRefusedError(
        'MODEL_NO_VISION',
        msg`The model ${modelName} cannot see images. Leave them out, or use a session with another model.`,
        modelName,
      );
    }
    return model;
  }

  private async named(caller: Caller, modelName: string): Promise<ResolvedChatModel> {
    const model = await this.resolver.resolveChat(caller, modelName).catch((error: unknown) => {
      const [, code] = FAULTS.find(([type]) => error instanceof type) ?? [];
      if (!code || !(error instanceof DomainError)) throw error;
      throw new ModelRefusedError(code, error.userMessage, modelName);
    });
    if (model.supportsTools === false) throw withoutTools(modelName);
    return model;
  }

  private async tryTools(caller: Caller, model: ResolvedChatModel): Promise<void> {
    const result = await this.probe(caller, model).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      throw new ModelRefusedError(
        'MODEL_UNAVAILABLE',
        msg`Whether the model ${model.modelName} can call tools could not be tried. ${error.userMessage}`,
        model.modelName,
      );
    });
    if (result !== 'unclear') {
      await this.models.rememberToolSupport(caller, model.id, result === 'calls-tools');
    }
    if (result !== 'calls-tools') throw withoutTools(model.modelName);
  }

  private probe(caller: Caller, model: ResolvedChatModel): Promise<ProbeResult> {
    // The call counts for its caller, whose limits may refuse it.
    const key = `${model.id} ${caller.userId} ${caller.apiKey?.id ?? ''}`;
    const underway = this.probes.get(key);
    if (underway) return underway;
    const probe = this.probeTools(caller, model).finally(() => this.probes.delete(key));
    this.probes.set(key, probe);
    return probe;
  }

  /**
   * Asks the model once to call a tool, and takes at most 30 seconds. Fails with UpstreamError when the service cannot be
   * reached, refuses the key or does not know the model.
   */
  private async probeTools(caller: Caller, model: ResolvedChatModel): Promise<ProbeResult> {
    const signal = AbortSignal.timeout(PROBE_MS);
    // Some services know tools, but not that one must be called.
    for (const toolChoice of ['required', 'auto'] as const) {
      try {
        return await this.ask(model, toolChoice, { use: { caller, feature: 'harness' }, signal });
      } catch (error) {
        const isRefusal = error instanceof UpstreamError && error.kind === 'invalid-request';
        if (!isRefusal) throw error;
      }
    }
    return 'unclear';
  }

  private async ask(
    model: ResolvedChatModel,
    toolChoice: 'required' | 'auto',
    how: { readonly use: ModelUse; readonly signal: AbortSignal },
  ): Promise<ProbeResult> {
    const call = { ...CALL, toolChoice };
    let finish: FinishReason | undefined;
    // The finding is cached for this model, so fallbacks must not answer.
    const options = { ...how, limits: LIMITS, withoutFallbacks: true };
    for await (const parts of this.calls.stream(model, () => call, options)) {
      for (const part of parts) {
        if (part.type === 'tool-call') return 'calls-tools';
        if (part.type === 'finish') finish = part.reason;
      }
    }
    return finish === 'stop' ? 'calls-none' : 'unclear';
  }
}

function withoutTools(modelName: string): ModelRefusedError {
  return new ModelRefusedError(
    'MODEL_NO_TOOLS',
    msg`The model ${modelName} does not call tools, which the harness needs. Choose another chat model, or set its supportsTools if this is wrong.`,
    modelName,
  );
}

/** Time limit of a probe in total; creating a session waits no longer. */
const PROBE_MS = 30_000;
const LIMITS = { connectMs: 10_000, idleMs: PROBE_MS, totalMs: PROBE_MS };

const CALL = {
  messages: [{ role: 'user', content: 'Call the tool ping with the word "ready".' }],
  tools: [
    {
      name: 'ping',
      description: 'Answers that the caller can call tools.',
      inputSchema: {
        type: 'object',
        properties: { word: { type: 'string' } },
        required: ['word'],
        additionalProperties: false,
      },
    },
  ],
  thinking: false,
} satisfies Omit<ChatCall, 'model'>;

/** Result of a probe; unclear when the answer proves neither. */
type ProbeResult = 'calls-tools' | 'calls-none' | 'unclear';

/** Whether a session or run is the caller's, or the caller is a super administrator who acts in its tenant. */
export function maySee(
  caller: Caller,
  { tenantId, userId }: Pick<HarnessRun, 'tenantId' | 'userId'>,
): boolean {
  return tenantId === caller.tenantId && (userId === caller.userId || isSuperAdmin(caller));
}

const PAGE_SIZE = 100;
const NOTHING = { inputs: [], approvals: [] };

/** Maximum number of checks: a run may end between two, but a session that changes this fast is not waited for. */
const MAX_CHECKS = 5;

/** Sessions and runs, each visible to its user and to super administrators who act in the tenant; how runs begin. */
@Injectable()
export class RunService {
  constructor(
    private readonly sessions: SessionRepository,
    private readonly runs: RunRepository,
    private readonly inputs: RunInputRepository,
    private readonly approvals: ApprovalRepository,
    private readonly effects: EffectRepository,
    private readonly models: HarnessModels,
    private readonly switches: HarnessSwitches,
    private readonly ledger: RunLedger,
    private readonly messages: MessageRepository,
    private readonly artifacts: Artifacts,
    private readonly blobs: BlobStore,
    private readonly audit: AuditLog,
  ) {}

  /** The session, deleted or not; NotFoundError unless the caller may see it. */
  async sessionOf(caller: Caller, sessionId: string): Promise<SessionRow> {
    const session = await this.sessions.find(caller.tenantId, sessionId);
    if (!session || !maySee(caller, session)) throw new SessionNotFoundError();
    return session;
  }

  /** The run with its session; NotFoundError unless the caller may see both. */
  async ownRun(
    caller: Caller,
    sessionId: string,
    runId: string,
  ): Promise<{ session: SessionRow; run: HarnessRun }> {
    const session = await this.sessionOf(caller, sessionId);
    return { session, run: await this.find(session, runId) };
  }

  /** The run as it is now, with everything that waits for a person; for a session that the caller may see. */
  async view(session: SessionRow, runId: string): Promise<RunView> {
    const run = await this.find(session, runId);
    const [effects, waiting] = await Promise.all([
      this.effects.openOf(run.tenantId, [run.id]),
      this.waiting(run),
    ]);
    return toRunView(run, { ...waiting, effects });
  }

  /** The runs of a session, the newest first. Only the unfinished one comes with its inputs. */
  async list(session: SessionRow, query: RunListQuery): Promise<RunView[]> {
    const { pageNum = 1, pageSize: limit = PAGE_SIZE } = query;
    const page = { limit, offset: (pageNum - 1) * limit };
    const runs = await this.runs.page(session.tenantId, session.id, page);
    const ids = runs.map(({ id }) => id);
    const effects = await this.effects.openOf(session.tenantId, ids);
    // A session has one unfinished run at most, and an ended one waits for nothing.
    const live = runs.find(({ status }) => !isEnded(status));
    const waiting = live ? await this.waiting(live) : NOTHING;
    return runs.map((run) =>
      toRunView(run, {
        ...(run === live ? waiting : NOTHING),
        effects: effects.filter(({ runId }) => runId === run.id),
      }),
    );
  }

  private async find({ tenantId, id }: SessionRow, runId: string): Promise<HarnessRun> {
    const run = await this.runs.find(tenantId, id, runId);
    if (!run) throw new RunNotFoundError();
    return run;
  }

  private async waiting(run: HarnessRun): Promise<Pick<RunParts, 'inputs' | 'approvals'>> {
    const [inputs, approvals] = await Promise.all([
      // Inputs that were pending when the run ended stay visible, so that their author can send them again.
      this.inputs.pending(run),
      isEnded(run.status) ? [] : this.approvals.ofRun(run),
    ]);
    return { inputs, approvals: approvals.filter(({ state }) => state === 'PENDING') };
  }

  /**
   * Enqueues a new run of the session or, for a key that the session has seen with the same body, returns the earlier run.
   * Fails with RunActiveError while another run of the session is unfinished.
   */
  async create(caller: Caller, session: SessionRow, body: CreateRunBody): Promise<RunView> {
    const facts = { ...session, permissionMode: modeOf(session, body) };
    requireWrite(caller, facts);
    const images = readImages(body.images ?? []);
    const hash = hashOf(body);
    for (let look = 1; look <= MAX_CHECKS; look += 1) {
      // The order matters: the unfinished run may come from a faster request with the same key.
      const active = await this.runs.liveId(session.tenantId, session.id);
      const earlier = await this.runs.byKey(session.tenantId, session.id, body.idempotencyKey);
      if (earlier) {
        if (earlier.idempotencyHash !== hash) throw new IdempotencyConflictError();
        return { ...(await this.view(session, earlier.id)), replayed: true };
      }
      if (active) throw new RunActiveError(active);
      const modelName = await this.admit(caller, facts, { images, wanted: body.model });
      const run = this.newRun({ ...facts, modelName }, body, hash);
      if (await this.insert(caller, run, images)) {
        return this.view(session, run.id);
      }
    }
    throw new Error('The runs of a session come and go too fast for another one.');
  }

  /** The run belongs to its session's user, also when another user starts it: what that user may not do, the run may not. */
  private newRun(session: SessionRow, body: CreateRunBody, hash: string): NewRun {
    const { tenantId, userId, homeTenantId, modelName, permissionMode, approvalPolicy } = session;
    const { planPolicy, planFiles } = session;
    return {
      id: newId(),
      tenantId,
      sessionId: session.id,
      userId,
      homeTenantId,
      permissionMode,
      approvalPolicy,
      planPolicy,
      planFiles,
      requirement: body.requirement,
      modelName,
      budget: budgetOf(body.budget ?? {}, SERVER_BUDGET),
      phase: permissionMode === 'READ_ONLY' ? 'BUILD' : 'PLAN',
      idempotencyKey: body.idempotencyKey,
      idempotencyHash: hash,
      traceparent: currentSpan()?.traceparent ?? null,
    };
  }

  /** The name of the run's model, unless another obstacle prevents a new run. */
  private async admit(
    caller: Caller,
    session: SessionRow,
    {
      images,
      wanted,
    }: { readonly images: readonly RunImage[]; readonly wanted?: string | undefined },
  ): Promise<string> {
    const { permissionMode } = session;
    if (session.deletedAt) throw new SessionDeletedError();
    if (permissionMode !== 'READ_ONLY' && !(await this.switches.writesEnabled())) {
      throw new WritesDisabledError();
    }
    // Checked before images are stored; the transaction that stores the run counts again.
    if ((await this.runs.queued()) >= RUN_QUEUE.maxRuns) throw new QueueFullError();
    const needs = { images: images.length > 0, isTried: wanted === undefined };
    const { modelName } = await this.models.forRun(caller, wanted ?? session.modelName, needs);
    return modelName;
  }

  /** False when another request was faster. QueueFullError when other runs have taken the last places meanwhile. */
  private async insert(caller: Caller, run: NewRun, images: readonly RunImage[]): Promise<boolean> {
    const { id, tenantId, sessionId, modelName, permissionMode } = run;
    // Images are written to disk before the transaction, which must not wait for it.
    for (const { bytes } of images) await this.blobs.put(tenantId, bytes);
    const created = await this.ledger.asCreator(run, async (writer) => {
      await this.begin(writer, images);
      const detail = { sessionId, modelName, permissionMode };
      await this.audit.record(caller, { action: 'create', target: 'harness_run', id, detail });
      // Last, because other requests wait for the rest of this transaction from here on.
      const queued = await this.runs.queuedNow();
      if (queued > RUN_QUEUE.maxRuns) throw new QueueFullError();
      return true;
    });
    return created ?? false;
  }

  private async begin(writer: RunWriter, images: readonly RunImage[]): Promise<void> {
    const { run } = writer;
    const storedImages = await this.keep(run, images);
    const metadata = { kind: 'INITIAL', ...(storedImages.length > 0 && { images: storedImages }) };
    await this.messages.append(run, { role: 'USER', content: run.requirement, metadata });
    // The message holds the session's row from here on: a request that deletes the session now sees the run.
    if (await this.sessions.isDeleted(run.tenantId, run.sessionId)) throw new SessionDeletedError();
    const { requirement, modelName: model, permissionMode, approvalPolicy, budget: limits } = run;
    writer.event('run.created', {
      ...writer.statusData,
      requirement,
      permissionMode,
      approvalPolicy,
      model,
      limits: { ...limits },
    });
    writer.event('run.queued', { ...writer.statusData, reason: 'created' });
  }

  private async keep(run: HarnessRun, images: readonly RunImage[]): Promise<object[]> {
    const storedImages: object[] = [];
    for (const { mediaType, bytes, detail } of images) {
      const artifact = { toolCallId: null, kind: 'image', mediaType, bytes };
      const artifactId = await this.artifacts.keep(run, artifact);
      if (artifactId === undefined) throw new NoRoomForImagesError();
      storedImages.push({ artifactId, mediaType, byteSize: bytes.length, detail });
    }
    return storedImages;
  }
}

/** The mode of a new run: the session's, or a narrower one. */
function modeOf(session: SessionRow, { permissionMode }: CreateRunBody): PermissionMode {
  if (permissionMode === undefined) return session.permissionMode;
  if (!isWithin(permissionMode, session.permissionMode)) {
    throw new WiderModeError(permissionMode, session.permissionMode);
  }
  return permissionMode;
}

function hashOf(body: CreateRunBody): string {
  const { requirement, images = [], budget = {}, model, permissionMode } = body;
  const { maxIterations, maxToolCalls, maxInputTokens, maxOutputTokens, maxWallTimeMillis } =
    budget;
  return requestHash([
    requirement,
    images.map(({ dataUrl, detail }) => [sha256(dataUrl), detail ?? 'auto']),
    [maxIterations, maxToolCalls, maxInputTokens, maxOutputTokens, maxWallTimeMillis],
    // A request without them is the same as before there were any.
    ...(model === undefined && permissionMode === undefined ? [] : [[model, permissionMode]]),
  ]);
}

class WiderModeError extends InvalidInputError {
  constructor(wanted: PermissionMode, limit: PermissionMode) {
    super(
      msg`permissionMode of a run can only narrow that of its session, which is ${limit}; ${wanted} is wider. Leave it out, choose a narrower one, or create a session with ${wanted}.`,
      { data: { errorCode: 'PERMISSION_MODE_TOO_WIDE', permissionMode: limit } },
    );
  }
}

class RunActiveError extends ConflictError {
  constructor(runId: string) {
    super(msg`A run of this session is not finished. Wait for it, steer it, or cancel it first.`, {
      data: { errorCode: 'RUN_ACTIVE', runId },
    });
  }
}

class QueueFullError extends TooManyRequestsError {
  constructor() {
    super(msg`Too many runs wait for a free place. Try again in a few seconds.`, {
      data: { errorCode: 'QUEUE_FULL' },
      retryAfterSeconds: 5,
    });
  }
}

class NoRoomForImagesError extends InvalidInputError {
  constructor() {
    super(msg`The images have more than a run may keep. Send fewer or smaller ones.`, {
      data: { errorCode: 'TOO_LARGE' },
    });
  }
}
