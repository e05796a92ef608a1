import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { RateLimiter } from '../platform/event/index.js';
import type { RateLimit } from '../platform/event/index.js';
import type { ResolvedMediaModel } from '../model/index.js';
import type { MediaCallOptions, MediaResult, MediaType } from '../provider/index.js';
import type { ImageBody, SpeechBody, VideoBody } from './media.dto.js';
import { MediaModels } from './media.models.js';
import { toMediaResultView } from './media.view.js';
import type { MediaResultView } from './media.view.js';
import { TaskService } from './task/task.service.js';

interface MediaRequest {
  readonly model: string;
  readonly type: MediaType;
  /** What the user entered, for the record of the task. */
  readonly text: string;
  readonly disconnected: AbortSignal;
}

/** Calls media models. */
@Injectable()
export class MediaService {
  private readonly logger = new Logger('Media');
  private readonly limit: RateLimit;

  constructor(
    private readonly models: MediaModels,
    private readonly tasks: TaskService,
    private readonly limiter: RateLimiter,
    @Inject(CONFIG) config: Config,
  ) {
    this.limit = { name: 'media', points: config.MEDIA_REQUESTS_PER_MINUTE, seconds: 60 };
  }

  /** A picture, or the task that draws it. `disconnected` aborts when the client closes the connection. */
  async image(
    caller: Caller,
    body: ImageBody,
    disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    const request = { model: body.model, type: 'image', text: body.prompt, disconnected } as const;
    return this.create(caller, request, ({ adapter, connection, modelName }, options) =>
      adapter.image?.({ ...body, model: modelName }, connection, options),
    );
  }

  /** Spoken text, or the task that speaks it. */
  async speech(
    caller: Caller,
    body: SpeechBody,
    disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    const request = { model: body.model, type: 'audio', text: body.input, disconnected } as const;
    return this.create(caller, request, ({ adapter, connection, modelName }, options) =>
      adapter.speech?.({ ...body, model: modelName }, connection, options),
    );
  }

  /** The task that makes the video. */
  async video(
    caller: Caller,
    body: VideoBody,
    disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    const request = { model: body.model, type: 'video', text: body.prompt, disconnected } as const;
    return this.create(caller, request, ({ adapter, connection, modelName }, options) =>
      adapter.video?.({ ...body, model: modelName }, connection, options),
    );
  }

  private async create(
    caller: Caller,
    request: MediaRequest,
    make: (
      model: ResolvedMediaModel,
      options: MediaCallOptions,
    ) => Promise<MediaResult> | undefined,
  ): Promise<MediaResultView> {
    await this.limiter.consume(this.limit, String(caller.userId));
    const model = await this.models.find(caller, request.model, [request.type]);
    // The provider continues a task after the client has left, so it must be recorded to be found again.
    const signal = beginsTask(model) ? new AbortController().signal : request.disconnected;
    const result = await this.models.call(model, signal, (options) => make(model, options));
    if (result.id !== null) await this.record(caller, model, { ...result, id: result.id }, request);
    return toMediaResultView(result);
  }

  private async record(
    caller: Caller,
    model: ResolvedMediaModel,
    { id, status }: { readonly id: string; readonly status: string | null },
    { text }: MediaRequest,
  ): Promise<void> {
    try {
      await this.tasks.record(caller, { model, providerTaskId: id, status, text });
    } catch (error) {
      // The task runs; only the id in the answer leads to it now.
      this.logger.error({ msg: 'Failed to record media task', err: error });
    }
  }
}

function beginsTask({ category, adapter }: ResolvedMediaModel): boolean {
  return category === 'video' || adapter.lookUpPrediction !== undefined;
}
