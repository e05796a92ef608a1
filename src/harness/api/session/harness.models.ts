import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { DomainError } from '../../../platform/error/index.js';
import {
  ModelNotFoundError,
  ModelResolver,
  ModelService,
  WrongCategoryError,
} from '../../../model/index.js';
import type { ResolvedChatModel } from '../../../model/index.js';
import { ProviderUnavailableError } from '../../../provider/index.js';
import { ModelRefusedError } from '../../store/session.errors.js';
import { probeTools } from './tool.probe.js';
import type { ProbeResult } from './tool.probe.js';

/** Whether the harness can work with a model. */
@Injectable()
export class HarnessModels {
  /** Probes that are under way, by model: sessions that are created at once share one. */
  private readonly probes = new Map<number, Promise<ProbeResult>>();

  constructor(
    private readonly resolver: ModelResolver,
    private readonly models: ModelService,
  ) {}

  /**
   * The chat model of exactly the name. Where nobody has said whether it calls tools it is asked to call one, and what
   * it does is remembered. ModelRefusedError.
   */
  async forSession(caller: Caller, modelName: string): Promise<ResolvedChatModel> {
    const model = await this.named(caller, modelName);
    if (model.supportsTools === undefined) await this.tryTools(caller, model);
    return model;
  }

  /** The session's model for a new run, which may have changed since. */
  async forRun(
    caller: Caller,
    modelName: string,
    { images }: { readonly images: boolean },
  ): Promise<ResolvedChatModel> {
    const model = await this.named(caller, modelName);
    if (images && model.supportsVision === false) {
      throw new ModelRefusedError(
        'MODEL_NO_VISION',
        `The model ${modelName} cannot see images. Leave them out, or use a session with another model.`,
        modelName,
      );
    }
    return model;
  }

  private async named(caller: Caller, modelName: string): Promise<ResolvedChatModel> {
    const model = await this.resolved(caller, modelName);
    if (model.supportsTools === false) throw withoutTools(modelName);
    return model;
  }

  private async resolved(caller: Caller, modelName: string): Promise<ResolvedChatModel> {
    try {
      return await this.resolver.resolveChat(caller, modelName);
    } catch (error) {
      if (error instanceof ModelNotFoundError) {
        throw new ModelRefusedError('MODEL_NOT_FOUND', error.message, modelName);
      }
      if (error instanceof WrongCategoryError) {
        throw new ModelRefusedError('MODEL_NOT_CHAT', error.message, modelName);
      }
      if (error instanceof ProviderUnavailableError) {
        throw new ModelRefusedError('MODEL_UNAVAILABLE', error.message, modelName);
      }
      throw error;
    }
  }

  private async tryTools(caller: Caller, model: ResolvedChatModel): Promise<void> {
    const result = await this.probe(model).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      throw new ModelRefusedError(
        'MODEL_UNAVAILABLE',
        `Whether the model ${model.modelName} can call tools could not be tried. ${error.message}`,
        model.modelName,
      );
    });
    if (result !== 'unclear') {
      await this.models.rememberToolSupport(caller, model.id, result === 'calls-tools');
    }
    if (result !== 'calls-tools') throw withoutTools(model.modelName);
  }

  private probe(model: ResolvedChatModel): Promise<ProbeResult> {
    const underway = this.probes.get(model.id);
    if (underway) return underway;
    const probe = probeTools(model).finally(() => this.probes.delete(model.id));
    this.probes.set(model.id, probe);
    return probe;
  }
}

function withoutTools(modelName: string): ModelRefusedError {
  return new ModelRefusedError(
    'MODEL_NO_TOOLS',
    `The model ${modelName} does not call tools, which the harness needs. Choose another chat model, or set its supportsTools if this is wrong.`,
    modelName,
  );
}
