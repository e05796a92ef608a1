import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { MediaResult, MediaType } from '../provider/index.js';
import type { PredictionQuery, VideoQuery } from './media.dto.js';
import { NoPredictionsError } from './media.errors.js';
import { MediaModels } from './media.models.js';
import { TaskService } from './task/task.service.js';

const EVERY_TYPE: readonly MediaType[] = ['image', 'audio', 'video'];

/** Asks model services how their tasks are, and keeps the caller's own records of them up to date. */
@Injectable()
export class MediaLookup {
  constructor(
    private readonly models: MediaModels,
    private readonly tasks: TaskService,
  ) {}

  /** State and resource of a video. */
  async video(
    caller: Caller,
    { model: name, videoId: id }: VideoQuery,
    signal: AbortSignal,
  ): Promise<MediaResult> {
    const model = await this.models.find(caller, name, ['video']);
    const { adapter, connection } = model;
    const result = await this.models.call(
      model,
      signal,
      (options) =>
        adapter.lookUpVideo?.(id, connection, options) ??
        adapter.lookUpPrediction?.({ id, type: 'video' }, connection, options),
    );
    await this.tasks.seen(caller, { model, providerTaskId: id, status: result.status });
    return result;
  }

  /** State and resource of a task, whatever it makes. Fails with NoPredictionsError for a provider without such tasks. */
  async prediction(
    caller: Caller,
    { model: name, predictionId: id }: PredictionQuery,
    signal: AbortSignal,
  ): Promise<MediaResult> {
    const model = await this.models.find(caller, name, EVERY_TYPE);
    const { adapter, connection, category: type } = model;
    if (!adapter.lookUpPrediction) throw new NoPredictionsError(model.modelName);
    const result = await this.models.call(model, signal, (options) =>
      adapter.lookUpPrediction?.({ id, type }, connection, options),
    );
    await this.tasks.seen(caller, { model, providerTaskId: id, status: result.status });
    return result;
  }
}
