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

interface Wish {
  readonly model: string;
  readonly type: MediaType;
  /** What the user said, for the record of the task. */
  readonly text: string;
  readonly left: AbortSignal;
}

/** Has media models make something. */
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

  /** A picture, or the task that draws it. `left` says that the client has gone. */
  async image(caller: Caller, body: ImageBody, left: AbortSignal): Promise<MediaResultView> {
    const wish = { model: body.model, type: 'image', text: body.prompt, left } as const;
    return this.create(caller, wish, ({ adapter, connection, modelName }, options) =>
      adapter.image?.({ ...body, model: modelName }, connection, options),
    );
  }

  /** Spoken text, or the task that speaks it. */
  async speech(caller: Caller, body: SpeechBody, left: AbortSignal): Promise<MediaResultView> {
    const wish = { model: body.model, type: 'audio', text: body.input, left } as const;
    return this.create(caller, wish, ({ adapter, connection, modelName }, options) =>
      adapter.speech?.({ ...body, model: modelName }, connection, options),
    );
  }

  /** The task that makes the video. */
  async video(caller: Caller, body: VideoBody, left: AbortSignal): Promise<MediaResultView> {
    const wish = { model: body.model, type: 'video', text: body.prompt, left } as const;
    return this.create(caller, wish, ({ adapter, connection, modelName }, options) =>
      adapter.video?.({ ...body, model: modelName }, connection, options),
    );
  }

  private async create(
    caller: Caller,
    wish: Wish,
    make: (
      model: ResolvedMediaModel,
      options: MediaCallOptions,
    ) => Promise<MediaResult> | undefined,
  ): Promise<MediaResultView> {
    await this.limiter.consume(this.limit, String(caller.userId));
    const model = await this.models.find(caller, wish.model, [wish.type]);
    // A task goes on at the provider whether or not somebody waits: it must be recorded, to be found again.
    const signal = beginsTask(model) ? new AbortController().signal : wish.left;
    const result = await this.models.call(model, signal, (options) => make(model, options));
    if (result.id !== null) await this.record(caller, model, { ...result, id: result.id }, wish);
    return toMediaResultView(result);
  }

  private async record(
    caller: Caller,
    model: ResolvedMediaModel,
    { id, status }: { readonly id: string; readonly status: string | null },
    { text }: Wish,
  ): Promise<void> {
    try {
      await this.tasks.record(caller, { model, providerTaskId: id, status, text });
    } catch (error) {
      // The task runs, and its id in the answer is the only way left to it.
      this.logger.error({ msg: 'A media task could not be recorded', err: error });
    }
  }
}

function beginsTask({ category, adapter }: ResolvedMediaModel): boolean {
  return category === 'video' || adapter.lookUpPrediction !== undefined;
}
