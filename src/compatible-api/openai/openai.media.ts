import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { setEnvelopeCode } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { FormFile } from '../../platform/http/index.js';
import { ContentService, MediaService, NoImageError } from '../../media/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedMediaModel } from '../../model/index.js';
import type { MediaResult } from '../../provider/index.js';
import { ParameterError, reasonOf, UnsupportedParameterError } from '../answer/api.errors.js';
import { reportingCall } from '../answer/answer.js';
import type { ReportedCall } from '../answer/answer.js';
import { IMAGE_HINTS, SPEECH_HINTS, withoutHints } from '../answer/hints.js';
import {
  formFields,
  formFlag,
  formNumber,
  modelName,
  parameters,
  plainText,
} from '../answer/parameters.js';
import type { ImagesView } from './openai.view.js';

const MAX_TEXT_CHARS = 100_000;
const MAX_WORD_CHARS = 200;
/** Size value that leaves the choice to the model. */
const ANY_SIZE = 'auto';

/** Maximum images per request, as at OpenAI. Each image is a separate call. */
const MAX_IMAGES = 10;

const word = plainText(MAX_WORD_CHARS).nullish();
const imageRequest = z.strictObject({
  model: modelName,
  prompt: plainText(MAX_TEXT_CHARS),
  n: z.number().int().min(1).max(MAX_IMAGES).nullish(),
  size: word,
  seed: z.number().int().nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
});
const speechRequest = z.strictObject({
  model: modelName,
  input: plainText(MAX_TEXT_CHARS),
  voice: word,
  response_format: word,
  speed: z.number().min(0.25).max(4).nullish(),
  instructions: plainText(MAX_TEXT_CHARS).nullish(),
  stream_format: z.literal('audio').nullish(),
});

interface MediaContext extends ReportedCall {
  /** Aborts when the client closes the connection. */
  readonly disconnected: AbortSignal;
}

/** Maximum input images, as for OpenAI's newest models. */
const MAX_EDITED_IMAGES = 16;
const MAX_IMAGES_OF_A_CALL = 10;

const imageReference = z.strictObject({ image_url: z.string().min(1) });
/** Other parameters, such as quality, background and output_format, are passed to the service. */
const editRequest = z.looseObject({
  model: modelName,
  prompt: plainText(MAX_TEXT_CHARS),
  n: formNumber(1, MAX_IMAGES_OF_A_CALL).pipe(z.number().int()).default(1),
  size: word,
  response_format: z.enum(['url', 'b64_json']).nullish(),
  stream: formFlag.optional(),
  images: z.array(imageReference).max(MAX_EDITED_IMAGES).optional(),
  mask: imageReference.optional(),
});

type MadeImage = Pick<MediaResult, 'url' | 'dataUrl' | 'b64Json'>;

type FinishedMedium = Awaited<ReturnType<MediaService['finished']>>;

interface ImageAnswer {
  readonly format: 'url' | 'b64_json' | null | undefined;
  readonly resolved: ResolvedMediaModel;
  readonly disconnected: AbortSignal;
}

/** Receiver of the audio; `disconnected` aborts when the client closes the connection. */
interface Listener {
  readonly response: Response;
  readonly disconnected: AbortSignal;
}

/** POST /v1/images/generations, /v1/images/edits and /v1/audio/speech. Asynchronous tasks are awaited. */
@Injectable()
export class OpenAiMedia {
  constructor(
    private readonly models: ModelResolver,
    private readonly media: MediaService,
    private readonly contents: ContentService,
  ) {}

  /**
   * Images, each by a call of its own. Where base64 is asked for and the service answers an address, the image is fetched. An
   * image that fails beside others is left out, because those were paid for. Fails like MediaService and ContentService, and
   * with ParameterError.
   */
  async image(
    caller: Caller,
    body: unknown,
    { ignored, disconnected, trail }: MediaContext,
  ): Promise<ImagesView> {
    const request = parameters(imageRequest, withoutHints(body, IMAGE_HINTS, ignored));
    const { model, prompt, size, seed, response_format: format } = request;
    const count = request.n ?? 1;
    const resolved = await this.models.resolveMedia(caller, model, ['image']);
    ignored.beginModel(resolved);
    if (count > 1) ignored.requireLenient('n');
    const imageCall = {
      model,
      prompt,
      ...(size && size !== ANY_SIZE && { size }),
      ...(typeof seed === 'number' && { seed }),
    };
    const one = async (): Promise<MadeImage> => {
      const generation = await this.media.image(caller, imageCall, disconnected, trail);
      return this.media.finished(caller, model, generation, disconnected);
    };
    const outcomes = await Promise.allSettled(Array.from({ length: count }, one));
    const images = outcomes.flatMap((image) => (image.status === 'fulfilled' ? [image.value] : []));
    const failed = outcomes.find((image) => image.status === 'rejected');
    if (failed && images.length === 0) throw failed.reason as Error;
    if (failed) ignored.add('n');
    return this.answerOf(images, { format, resolved, disconnected });
  }

  /**
   * The images of one call, changed as the prompt says. `files` are those of a form; the images of a request as JSON are data
   * addresses, or addresses of public hosts, which are fetched. Fails like MediaService and ContentService, and with ParameterError.
   */
  async edit(
    caller: Caller,
    body: unknown,
    files: readonly FormFile[],
    { disconnected, trail }: MediaContext,
  ): Promise<ImagesView> {
    const request = parameters(editRequest, body);
    const {
      model,
      prompt,
      n,
      size,
      response_format: format,
      images,
      mask,
      stream,
      ...rest
    } = request;
    if (stream) throw new UnsupportedParameterError('stream');
    const resolved = await this.models.resolveMedia(caller, model, ['image']);
    const uploadedImages = files.filter(({ fieldname }) => /^image(\[\d*\])?$/.test(fieldname));
    const addressed = images ?? [];
    const read = addressed.map((one, at) => this.imageAt(one, `images[${at}]`, disconnected));
    const all = [...uploadedImages.map(({ buffer }) => buffer), ...(await Promise.all(read))];
    if (all.length === 0)
      throw new ParameterError('image', msg`The parameter ${'image'} is required.`);
    if (all.length > MAX_EDITED_IMAGES)
      throw new ParameterError('image', msg`At most ${MAX_EDITED_IMAGES} images can be sent.`);
    const masked = files.find(({ fieldname }) => fieldname === 'mask')?.buffer;
    const further = { ...rest, ...(size && size !== ANY_SIZE && { size }) };
    const editCall = {
      model,
      prompt,
      n,
      files: all,
      fields: formFields(further),
      trail,
      mask: masked ?? (mask && (await this.imageAt(mask, 'mask', disconnected))),
    };
    const editedImages = await this.media
      .edit(caller, editCall, disconnected)
      .catch((error: unknown) => {
        if (error instanceof NoImageError) throw new ParameterError(error.field, error.userMessage);
        throw reasonOf(error);
      });
    return this.answerOf(editedImages, { format, resolved, disconnected });
  }

  /** The bytes of an image that the client references. URLs of the model's own service are refused, because it may be in a private network. */
  private async imageAt(
    { image_url: address }: z.output<typeof imageReference>,
    param: string,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const [, data] = /^data:image\/[\w.+-]+;base64,(.*)$/is.exec(address) ?? [];
    if (data !== undefined) return Buffer.from(data, 'base64');
    if (!/^https:\/\//i.test(address)) {
      throw new ParameterError(
        param,
        msg`The parameter ${param} needs an https or a data address.`,
      );
    }
    return this.contents.image(address, { connection: { address: '' } }, signal);
  }

  private async answerOf(
    generatedImages: readonly MadeImage[],
    { format, resolved, disconnected }: ImageAnswer,
  ): Promise<ImagesView> {
    const data = generatedImages.map(async ({ url, dataUrl, b64Json }) => {
      const address = url ?? dataUrl ?? '';
      const wantsAddress = format ? format === 'url' : url !== null;
      if (wantsAddress) return { url: address };
      const fetched = async (): Promise<string> =>
        (await this.contents.image(address, resolved, disconnected)).toString('base64');
      return { b64_json: b64Json ?? (await fetched()) };
    });
    return { created: Math.floor(Date.now() / 1_000), data: await Promise.all(data) };
  }

  /** Sends the audio with its media type. Fails like MediaService and ContentService, and with ParameterError. */
  async speech(caller: Caller, body: unknown, { response, disconnected }: Listener): Promise<void> {
    const speechAudio = await reportingCall(caller, response, (call) =>
      this.sound(caller, body, { disconnected, ...call }),
    );
    const { b64Json, mimeType, id } = speechAudio;
    if (b64Json !== null) {
      setEnvelopeCode(response, 200);
      response.status(200).type(mimeType ?? 'audio/mpeg');
      response.send(Buffer.from(b64Json, 'base64'));
      return;
    }
    if (id === null) {
      throw new ParameterError(
        'model',
        msg`The service of this model answers the address of a sound. Use POST /media/speech, or another model.`,
      );
    }
    await this.contents.sendResult(
      id,
      { ...speechAudio, type: 'audio' },
      { response, disconnected },
    );
  }

  private async sound(
    caller: Caller,
    body: unknown,
    { ignored, disconnected, trail }: MediaContext,
  ): Promise<FinishedMedium> {
    const request = parameters(speechRequest, withoutHints(body, SPEECH_HINTS, ignored));
    const { model, input, voice, response_format: responseFormat, speed, instructions } = request;
    const resolved = await this.models.resolveMedia(caller, model, ['audio']);
    ignored.beginModel(resolved);
    const { adapter } = resolved;
    // Prediction services accept only a voice and a format.
    if (adapter.lookUpPrediction && speed) ignored.add('speed');
    if (adapter.lookUpPrediction && instructions) ignored.add('instructions');
    const speechCall = {
      model,
      input,
      ...(voice && { voice }),
      ...(responseFormat && { responseFormat }),
      ...(!adapter.lookUpPrediction && speed && { speed }),
      ...(!adapter.lookUpPrediction && instructions && { instructions }),
    };
    const generation = await this.media.speech(caller, speechCall, disconnected, trail);
    return {
      ...(await this.media.finished(caller, model, generation, disconnected)),
      id: generation.id,
    };
  }
}
