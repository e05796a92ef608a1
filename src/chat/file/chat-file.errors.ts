import { InvalidInputError, UnavailableError } from '../../platform/error/index.js';
import { msg, sentences } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

export class BlindModelError extends InvalidInputError {
  constructor(modelName: string, file: string) {
    super(
      msg`The model ${modelName} does not read images such as ${file}. Choose another chat model, or set its supportsVision if this is wrong.`,
    );
  }
}

export class ImageTypeError extends InvalidInputError {
  constructor(file: string, type: string) {
    super(
      msg`${file} is an image of type ${type}, which models do not read. Convert it to PNG, JPEG, WebP or GIF and send that.`,
    );
  }
}

export class TooManyImagesError extends InvalidInputError {
  constructor(count: number, limit: number) {
    super(msg`The question has ${count} images; ${limit} are the limit. Send fewer.`);
  }
}

export class ImageTooLargeError extends InvalidInputError {
  constructor(file: string, limitMb: number) {
    super(
      msg`The image ${file} is larger than ${limitMb} MiB, which is the limit. Send a smaller one.`,
    );
  }
}

export class ImagesTooLargeError extends InvalidInputError {
  constructor(limitMb: number) {
    super(
      msg`The images of the question are larger than ${limitMb} MiB together, which is the limit. Send fewer or smaller ones.`,
    );
  }
}

/** The content of the file can never be read, or reading it has failed. */
export class UnreadableFileError extends InvalidInputError {
  constructor(file: string, reason: Message) {
    super(msg`The file ${file} cannot be read. ${reason}`);
  }
}

/** A document is too large for a question without a session. */
export class LargeFileError extends InvalidInputError {
  constructor(file: string, tokens: number | undefined, limit: number) {
    const size = tokens === undefined ? msg`more text` : msg`about ${tokens} tokens of text, more`;
    super(
      msg`The file ${file} has ${size} than a question takes (${limit} tokens). Send it in a session (sessionId), in which large files are searched, or send a shorter one.`,
    );
  }
}

export class FileWaitError extends UnavailableError {
  constructor(file: string, seconds: number, reason: Message | null) {
    const message = sentences([
      msg`The file ${file} was not read within ${seconds} s.`,
      ...(reason === null ? [] : [reason]),
      msg`Send the question with the file again in a moment.`,
    ]);
    super(msg`The file ${file}`, undefined, message);
  }
}

export class FileGoneError extends InvalidInputError {
  constructor(file: string) {
    super(msg`The file ${file} was deleted while it was read. Upload it again and send that.`);
  }
}
