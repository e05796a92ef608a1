import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { DomainError, InvalidInputError } from '../platform/error/index.js';
import { currentRequest } from '../platform/http/index.js';
import { countedCall, ModelNotFoundError, ModelResolver } from '../model/index.js';
import type { ResolvedMediaModel } from '../model/index.js';
import { Metrics } from '../platform/observability/index.js';
import type { CallLimits, MediaCallOptions, MediaResult, MediaType } from '../provider/index.js';
import { MediaFailedError, UnsupportedMediaError } from './media.errors.js';

/** Finds and calls media models. The cause of a failure is logged; the caller gets the request's id. */
@Injectable()
export class MediaModels {
  private readonly logger = new Logger('Media');
  private readonly limits: CallLimits;

  constructor(
    private readonly resolver: ModelResolver,
    private readonly metrics: Metrics,
    @Inject(CONFIG) config: Config,
  ) {
    const connectMs = config.MEDIA_CONNECT_TIMEOUT_SECONDS * 1_000;
    const totalMs = config.MEDIA_TIMEOUT_SECONDS * 1_000;
    this.limits = { connectMs, idleMs: totalMs, totalMs };
  }

  /**
   * The model of the name that makes media of one of the types. A model of another category, a disabled provider and a
   * provider without a media adapter are named; MediaFailedError when there is no such model.
   */
  async find(
    caller: Caller,
    modelName: string,
    types: readonly MediaType[],
  ): Promise<ResolvedMediaModel> {
    try {
      return await this.resolver.resolveMedia(caller, modelName, types);
    } catch (error) {
      if (error instanceof ModelNotFoundError) throw this.failure(error, { modelName });
      throw error;
    }
  }

  /**
   * Makes one call of the model's adapter. Fails with UnsupportedMediaError when the adapter has no such call, with
   * InvalidInputError for an id that can be none, and with MediaFailedError for every other failure of the call.
   */
  async call(
    model: ResolvedMediaModel,
    signal: AbortSignal,
    make: (options: MediaCallOptions) => Promise<MediaResult> | undefined,
  ): Promise<MediaResult> {
    const { providerCode, modelName, category } = model;
    const calling = make({ limits: this.limits, signal });
    if (!calling) throw new UnsupportedMediaError(providerCode, category);
    try {
      const counted = { provider: providerCode, kind: 'media' } as const;
      return await countedCall(this.metrics, counted, () => calling);
    } catch (error) {
      // A client that left needs no reason, and an error that is no DomainError is reported by the filter.
      const isSaid = signal.aborted || error instanceof InvalidInputError;
      if (isSaid || !(error instanceof DomainError)) throw error;
      throw this.failure(error, { modelName, providerCode });
    }
  }

  private failure(error: DomainError, about: object): MediaFailedError {
    this.logger.warn({ msg: 'Media request failed', ...about, err: error });
    return new MediaFailedError(currentRequest()?.id, error);
  }
}
