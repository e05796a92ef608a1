import { DomainError, InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { MediaCategory } from '../model/index.js';

/** The public facts about a failed call: the request id, under which the log has the cause. */
export class MediaFailedError extends DomainError {
  readonly code = 500;

  /** @param isFinal The medium was begun and may be made yet: the same request again would pay for another one. */
  constructor(
    requestId: string | undefined,
    cause: unknown,
    readonly isFinal = false,
  ) {
    super(failureMessage(requestId), { cause });
  }
}

/** Thrown for a model that does not exist, which is the caller's error; the text is that of a failed call. */
export class MediaModelError extends InvalidInputError {
  constructor(requestId: string | undefined, cause: unknown) {
    super(failureMessage(requestId), { cause });
  }
}

function failureMessage(requestId: string | undefined): Message {
  return msg`The media request failed. Check the model, or try again; if it persists, report request ${requestId ?? 'unknown'}.`;
}

const MADE: Record<MediaCategory | 'edit', Message> = {
  image: msg`images`,
  audio: msg`speech`,
  video: msg`videos`,
  transcription: msg`transcripts`,
  moderation: msg`moderation`,
  edit: msg`changes of images`,
};

/** The model's provider has a media adapter, but not for this. */
export class UnsupportedMediaError extends DomainError {
  readonly code = 500;

  constructor(providerCode: string, type: keyof typeof MADE) {
    super(
      msg`Unsupported model category: models of the provider ${providerCode} cannot be called for ${MADE[type]}. Choose a model of another provider.`,
    );
  }
}

/** Thrown for models whose provider cannot look up every kind of task. */
export class NoPredictionsError extends InvalidInputError {
  constructor(modelName: string) {
    super(
      msg`The model ${modelName} has no predictions. Choose a model of the provider media_async; a video of another one is looked up with GET /media/video.`,
    );
  }
}

export class NoSoundError extends InvalidInputError {
  constructor() {
    super(
      msg`The file is no sound that can be read. Send wav, mp3, m4a, mp4, ogg, webm, flac, aac, aiff or amr.`,
    );
  }
}

export class NoImageError extends InvalidInputError {
  constructor(readonly field: string) {
    super(msg`The file ${field} is no image that can be read. Send png, jpeg, webp or gif.`);
  }
}
