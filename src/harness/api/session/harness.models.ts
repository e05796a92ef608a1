import { Injectable } from '@nestjs/common';
import {
  ModelNotFoundError,
  ModelResolver,
  ModelService,
  UpstreamCalls,
  WrongCategoryError,
} from '../../../model/index.js';
import type { ModelUse, ResolvedChatModel } from '../../../model/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { DomainError, InvalidInputError } from '../../../platform/error/index.js';
import type { Message } from '../../../platform/message/index.js';
import { msg } from '../../../platform/message/index.js';
import { ProviderUnavailableError, UpstreamError } from '../../../provider/index.js';
import type { ChatCall, FinishReason } from '../../../provider/index.js';

/** Why a model cannot be used; the word is for clients, the message for people. */
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
  /** Probes that are under way: sessions that one user or key creates at once with a model share one. */
  private readonly probes = new Map<string, Promise<ProbeResult>>();

  constructor(
    private readonly resolver: ModelResolver,
    private readonly models: ModelService,
    private readonly calls: UpstreamCalls,
  ) {}

  /**
   * The chat model of exactly the name. Where it is not known whether it calls tools it is asked to call one, and what
   * it does is remembered. ModelRefusedError.
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
      throw new ModelRefusedError(code, error.message, modelName);
    });
    if (model.supportsTools === false) throw withoutTools(modelName);
    return model;
  }

  private async tryTools(caller: Caller, model: ResolvedChatModel): Promise<void> {
    const result = await this.probe(caller, model).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      throw new ModelRefusedError(
        'MODEL_UNAVAILABLE',
        msg`Whether the model ${model.modelName} can call tools could not be tried. ${error.message}`,
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
    // What is learned is remembered of this model.
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

/** In all; creating a session waits no longer. */
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

/** What a probe has found; unclear when the answer says neither. */
type ProbeResult = 'calls-tools' | 'calls-none' | 'unclear';
