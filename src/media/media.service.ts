import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { ACCESS_LOST, OpenStreams } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { isUnavailable } from '../platform/database/index.js';
import { DomainError, ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { RateLimiter } from '../platform/event/index.js';
import type { RateLimit } from '../platform/event/index.js';
import { currentRequest } from '../platform/http/index.js';
import { ModelNotFoundError, ModelResolver, UpstreamCalls } from '../model/index.js';
import { LimitReachedError } from '../usage/index.js';
import type { CallTrail, MediaCategory, ResolvedMediaModel } from '../model/index.js';
import type { MediaUnits } from '../usage/index.js';
import { msg } from '../platform/message/index.js';
import { abortedError, imageFileType, UpstreamError } from '../provider/index.js';
import type {
  CallLimits,
  ImageEditCall,
  MediaCallOptions,
  MediaResult,
  MediaType,
  ModelFile,
  Transcript,
  TranscriptionCall,
  TranscriptionOptions,
} from '../provider/index.js';
import { MediaResultView } from './media.dto.js';
import type { ImageBody, PredictionQuery, SpeechBody, VideoBody, VideoQuery } from './media.dto.js';
import {
  MediaFailedError,
  MediaModelError,
  NoImageError,
  NoPredictionsError,
  NoSoundError,
  UnsupportedMediaError,
} from './media.errors.js';
import { TaskRepository } from './task/task.repository.js';
import { soundIn } from './transcription/sound.js';

interface MediaRequest {
  readonly model: string;
  readonly type: MediaType;
  /** The user's text, for the record of the task. */
  readonly text: string;
  /** The cost of a success. */
  readonly units: MediaUnits;
  readonly disconnected: AbortSignal;
  readonly trail?: CallTrail | undefined;
}

/** The caller of a model and the cost of the call; undefined for a lookup of a task. */
interface MediaUse {
  readonly caller: Caller;
  readonly model: ResolvedMediaModel<MediaType>;
  readonly signal: AbortSignal;
  readonly units?: MediaUnits;
  readonly trail?: CallTrail | undefined;
}

/** Images to change. */
interface ImageEditRequest extends Pick<ImageEditCall, 'prompt' | 'n' | 'fields'> {
  readonly model: string;
  readonly files: readonly Buffer[];
  readonly mask?: Buffer | undefined;
  readonly trail?: CallTrail | undefined;
}

/** A sound to write down. */
interface TranscriptionRequest
  extends
    Pick<TranscriptionCall, 'task' | 'format' | 'fields'>,
    Pick<TranscriptionOptions, 'onEvent'> {
  readonly model: string;
  readonly bytes: Buffer;
  readonly trail?: CallTrail | undefined;
}

const EVERY_TYPE: readonly MediaType[] = ['image', 'audio', 'video'];

const COMPLETED: readonly (string | null)[] = ['completed', 'succeeded', 'success'];
const FAILED = 'failed';

const CONNECT_MS = 30_000;

/** The first pause between two lookups of a task; each further one is longer. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

/** Whether a task has made its medium, in the words of all services. */
export function isCompleted(status: string | null): boolean {
  return COMPLETED.includes(status);
}

/** Images, speeches and videos of one user, and the time limit of one call. */
export const MEDIA_LIMITS = { requestsPerMinute: 60, totalMs: 3 * 60_000 };

/**
 * Calls media models and looks up their tasks, of which it keeps the caller's own records up to date. The cause of a
 * failure is logged; the caller gets the request's id.
 */
@Injectable()
export class MediaService {
  private readonly logger = new Logger('Media');
  private readonly limit: RateLimit;
  private readonly limits: CallLimits;

  constructor(
    private readonly resolver: ModelResolver,
    private readonly tasks: TaskRepository,
    private readonly limiter: RateLimiter,
    private readonly calls: UpstreamCalls,
    private readonly streams: OpenStreams,
  ) {
    this.limit = { name: 'media', points: MEDIA_LIMITS.requestsPerMinute, seconds: 60 };
    const { totalMs } = MEDIA_LIMITS;
    this.limits = { connectMs: CONNECT_MS, idleMs: totalMs, totalMs };
  }

  /** A picture, or the task that draws it. `disconnected` aborts when the client closes the connection. */
  async image(
    caller: Caller,
    body: ImageBody,
    disconnected: AbortSignal,
    trail?: CallTrail,
  ): Promise<MediaResultView> {
    const { model, prompt: text } = body;
    const units = { images: 1 };
    const request = { model, type: 'image', text, units, disconnected, trail } as const;
    return this.create(caller, request, ({ adapter, connection, modelName }, options) =>
      adapter.image?.({ ...body, model: modelName }, connection, options),
    );
  }

  /** The images of one call, changed as the prompt says. Fails with NoImageError, and as a call of a model. */
  async edit(
    caller: Caller,
    { model: name, files, mask, trail, ...settings }: ImageEditRequest,
    signal: AbortSignal,
  ): Promise<readonly MediaResult[]> {
    await this.limiter.consume(this.limit, String(caller.userId));
    const model = await this.find(caller, name, ['image']);
    const images = files.map((bytes) => imageFile('image', bytes));
    const masked = mask && imageFile('mask', mask);
    const { adapter, connection, modelName, providerCode } = model;
    const make = (options: MediaCallOptions): Promise<readonly MediaResult[]> => {
      const call = { ...settings, model: modelName, images, mask: masked };
      const pending = adapter.edit?.(call, connection, options);
      if (!pending) throw new UnsupportedMediaError(providerCode, 'edit');
      return pending;
    };
    const use = { caller, feature: 'media', trail } as const;
    const { limits } = this;
    const units = { images: settings.n };
    return this.reported(model, signal, () =>
      this.calls.media(model, make, { use, limits, signal, units }),
    );
  }

  /** Spoken text, or the task that speaks it. */
  async speech(
    caller: Caller,
    body: SpeechBody,
    disconnected: AbortSignal,
    trail?: CallTrail,
  ): Promise<MediaResultView> {
    const { model, input: text } = body;
    const units = { characters: body.input.length };
    const request = { model, type: 'audio', text, units, disconnected, trail } as const;
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
    const { model, prompt: text } = body;
    const units = { seconds: body.seconds };
    const request = { model, type: 'video', text, units, disconnected } as const;
    return this.create(caller, request, ({ adapter, connection, modelName }, options) =>
      adapter.video?.({ ...body, model: modelName }, connection, options),
    );
  }

  /**
   * Transcribes a sound into the format that is asked for; with `onEvent` piece by piece as well. Fails with NoSoundError,
   * and as a call of a model.
   */
  async transcribe(
    caller: Caller,
    { model: name, bytes, onEvent, trail, ...settings }: TranscriptionRequest,
    signal: AbortSignal,
  ): Promise<Transcript> {
    await this.limiter.consume(this.limit, String(caller.userId));
    const model = await this.find(caller, name, ['transcription']);
    const sound = soundIn(bytes);
    if (!sound) throw new NoSoundError();
    const { adapter, connection, modelName, providerCode } = model;
    const { mimeType, ending, seconds } = sound;
    const file = { name: `audio.${ending}`, mimeType, bytes };
    const make = (options: MediaCallOptions): Promise<Transcript> => {
      const call = { ...settings, model: modelName, file };
      const pending = adapter.transcribe?.(call, connection, { ...options, onEvent });
      if (!pending) throw new UnsupportedMediaError(providerCode, 'transcription');
      return pending;
    };
    const use = { caller, feature: 'media', trail } as const;
    const { limits } = this;
    return this.reported(model, signal, () =>
      this.calls.transcribe(model, make, { use, limits, signal, seconds }),
    );
  }

  /** State and resource of a video. */
  async lookUpVideo(
    caller: Caller,
    { model: name, videoId: id }: VideoQuery,
    signal: AbortSignal,
  ): Promise<MediaResult> {
    const model = await this.find(caller, name, ['video']);
    const { adapter, connection } = model;
    const result = await this.call(
      { caller, model, signal },
      (options) =>
        adapter.lookUpVideo?.(id, connection, options) ??
        adapter.lookUpPrediction?.({ id, type: 'video' }, connection, options),
    );
    await this.tasks.updateStatus(caller, { model, providerTaskId: id, status: result.status });
    return result;
  }

  /** State and resource of a task, whatever it makes. Fails with NoPredictionsError for a provider without such tasks. */
  async lookUpPrediction(
    caller: Caller,
    { model: name, predictionId: id }: PredictionQuery,
    signal: AbortSignal,
  ): Promise<MediaResult> {
    const model = await this.find(caller, name, EVERY_TYPE);
    const { adapter, connection, category: type } = model;
    if (!adapter.lookUpPrediction) throw new NoPredictionsError(model.modelName);
    const result = await this.call({ caller, model, signal }, (options) =>
      adapter.lookUpPrediction?.({ id, type }, connection, options),
    );
    await this.tasks.updateStatus(caller, { model, providerTaskId: id, status: result.status });
    return result;
  }

  /**
   * The result of `image` or `speech`, waited for where it is a task of predictions. The task goes on when `signal` aborts.
   * Fails with MediaFailedError for a task that ends without a medium, or not within its time limit, in which a look
   * at it may fail. Unless the service says that the task has failed, the error is final. ForbiddenError when the caller
   * loses the right to the model.
   */
  async finished(
    caller: Caller,
    model: string,
    created: MediaResultView,
    disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    if (!isTask(created) || isCompleted(created.status)) return withMedium(created);
    const { id } = await this.find(caller, model, EVERY_TYPE);
    const watched = this.streams.watch(caller, (now) => this.resolver.mayUse(now, id));
    try {
      const signal = AbortSignal.any([disconnected, watched.signal]);
      return withMedium(await this.waited(caller, model, created, signal));
    } catch (error) {
      throw watched.signal.aborted ? new ForbiddenError(ACCESS_LOST) : error;
    } finally {
      watched.release();
    }
  }

  private async waited(
    caller: Caller,
    model: string,
    created: MediaResultView,
    signal: AbortSignal,
  ): Promise<MediaResultView> {
    let result = created;
    const over = Date.now() + this.limits.totalMs;
    for (let pauseMs = FIRST_PAUSE_MS; isTask(result) && !isCompleted(result.status);) {
      if (result.status === FAILED || Date.now() > over) throw unfinished(result);
      await sleep(pauseMs, undefined, { signal }).catch((error: unknown) => {
        throw signal.aborted ? abortedError() : error;
      });
      pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS);
      const task = { model, predictionId: result.id };
      result = (await this.lookAgain(caller, task, signal)) ?? result;
    }
    return result;
  }

  /** The state of a running task; undefined after a failure that may pass. */
  private async lookAgain(
    caller: Caller,
    task: PredictionQuery,
    signal: AbortSignal,
  ): Promise<MediaResultView | undefined> {
    try {
      return MediaResultView.of(await this.lookUpPrediction(caller, task, signal));
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      if (!(error instanceof MediaFailedError)) throw error;
      const { cause } = error;
      if (cause instanceof UpstreamError && cause.retryable) return undefined;
      throw new MediaFailedError(currentRequest()?.id, cause, true);
    }
  }

  private async create(
    caller: Caller,
    request: MediaRequest,
    make: (
      model: ResolvedMediaModel<MediaType>,
      options: MediaCallOptions,
    ) => Promise<MediaResult> | undefined,
  ): Promise<MediaResultView> {
    await this.limiter.consume(this.limit, String(caller.userId));
    const model = await this.find(caller, request.model, [request.type]);
    // The provider continues a task after the client has left, so it must be recorded to be found again.
    const signal = beginsTask(model) ? new AbortController().signal : request.disconnected;
    const { units, trail } = request;
    const result = await this.call({ caller, model, signal, units, trail }, (options) =>
      make(model, options),
    );
    if (result.id !== null) await this.record(caller, model, { ...result, id: result.id }, request);
    return MediaResultView.of(result);
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

  /**
   * The model of the name that makes media of one of the types. A model of another category, a disabled provider and a
   * provider without a media adapter are named; MediaModelError when there is no such model.
   */
  private async find<Category extends MediaCategory>(
    caller: Caller,
    modelName: string,
    categories: readonly Category[],
  ): Promise<ResolvedMediaModel<Category>> {
    try {
      return await this.resolver.resolveMedia(caller, modelName, categories);
    } catch (error) {
      if (!(error instanceof ModelNotFoundError)) throw error;
      this.logFailure(error, { modelName });
      throw new MediaModelError(currentRequest()?.id, error);
    }
  }

  /**
   * Makes one call of the model's adapter. Fails with UnsupportedMediaError when the adapter has no such call, with
   * InvalidInputError for an id that can be none, and with MediaFailedError for every other failure of the call.
   */
  private async call(
    { caller, model, signal, units, trail }: MediaUse,
    make: (options: MediaCallOptions) => Promise<MediaResult> | undefined,
  ): Promise<MediaResult> {
    const { providerCode, category } = model;
    const begin = (options: MediaCallOptions): Promise<MediaResult> => {
      const pending = make(options);
      if (!pending) throw new UnsupportedMediaError(providerCode, category);
      return pending;
    };
    const use = { caller, feature: 'media', trail } as const;
    const { limits } = this;
    return this.reported(model, signal, () =>
      this.calls.media(model, begin, { use, limits, signal, units }),
    );
  }

  /** Makes a call, and fails as `call` does. */
  private async reported<T>(
    { modelName, providerCode }: ResolvedMediaModel,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> {
    try {
      return await call();
    } catch (error) {
      // A client that left needs no reason, and an error that is no DomainError is reported by the filter.
      const isSaid =
        signal.aborted ||
        error instanceof InvalidInputError ||
        error instanceof UnsupportedMediaError ||
        error instanceof LimitReachedError;
      if (isSaid || !(error instanceof DomainError)) throw error;
      this.logFailure(error, { modelName, providerCode });
      throw new MediaFailedError(currentRequest()?.id, error);
    }
  }

  private logFailure(error: DomainError, about: object): void {
    this.logger.warn({ msg: 'Media request failed', ...about, err: error });
  }
}

/** The result; MediaFailedError for one without a medium. */
function withMedium(result: MediaResultView): MediaResultView {
  if (result.url === null && result.dataUrl === null) throw unfinished(result);
  return result;
}

function isTask(result: MediaResultView): result is MediaResultView & { readonly id: string } {
  return result.id !== null;
}

/** A task that has failed may be begun again; any other one may have its medium yet. */
function unfinished(task: MediaResultView): MediaFailedError {
  return new MediaFailedError(currentRequest()?.id, taskError(task), task.status !== FAILED);
}

function taskError({ id, status }: MediaResultView): UpstreamError {
  const isOver = status === FAILED || isCompleted(status);
  return isOver
    ? new UpstreamError({
        kind: 'protocol',
        message: msg`The provider ended the task ${id ?? ''} without a result. Try again, or choose another model.`,
      })
    : new UpstreamError({
        kind: 'timeout',
        message: msg`The provider did not finish the task ${id ?? ''} in time. Look it up later with GET /media/prediction.`,
      });
}

function beginsTask({ category, adapter }: ResolvedMediaModel<MediaType>): boolean {
  return category === 'video' || adapter.lookUpPrediction !== undefined;
}

/** Named by what it is: services go by the ending. */
function imageFile(field: string, bytes: Buffer): ModelFile {
  const type = imageFileType(bytes);
  if (!type) throw new NoImageError(field);
  const { mimeType, ending } = type;
  return { name: `${field}.${ending}`, mimeType, bytes };
}
