import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { setEnvelopeCode } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { ContentService, MediaService } from '../../media/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedMediaModel } from '../../model/index.js';
import { ParameterError } from '../answer/door.errors.js';
import { IMAGE_HINTS, SPEECH_HINTS, withoutHints } from '../answer/hints.js';
import { IgnoredParameters } from '../answer/ignored-parameters.js';
import { modelName, parameters, plainText } from '../answer/parameters.js';
import type { ImagesView } from './openai.view.js';

const LONGEST_TEXT = 100_000;
const LONGEST_WORD = 200;
/** The size that a request leaves to the model. */
const ANY_SIZE = 'auto';

/** Images of one request at most, as at OpenAI. Each is a call of its own. */
const MAX_IMAGES = 10;

const word = plainText(LONGEST_WORD).nullish();
const imageRequest = z.strictObject({
  model: modelName,
  prompt: plainText(LONGEST_TEXT),
  n: z.number().int().min(1).max(MAX_IMAGES).nullish(),
  size: word,
  seed: z.number().int().nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
});
const speechRequest = z.strictObject({
  model: modelName,
  input: plainText(LONGEST_TEXT),
  voice: word,
  response_format: word,
  speed: z.number().min(0.25).max(4).nullish(),
  instructions: plainText(LONGEST_TEXT).nullish(),
  stream_format: z.literal('audio').nullish(),
});

interface ImageContext {
  readonly ignored: IgnoredParameters;
  /** Aborts when the client closes the connection. */
  readonly disconnected: AbortSignal;
}

/** Where sound goes; `disconnected` aborts when the client closes the connection. */
interface Listener {
  readonly response: Response;
  readonly disconnected: AbortSignal;
}

/** POST /v1/images/generations and /v1/audio/speech. What a service makes as a task is waited for. */
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
    { ignored, disconnected }: ImageContext,
  ): Promise<ImagesView> {
    const request = parameters(imageRequest, withoutHints(body, IMAGE_HINTS, ignored));
    const count = request.n ?? 1;
    if (count > 1) ignored.requireLenient('n');
    const resolved = await this.models.resolveMedia(caller, request.model, ['image']);
    const made = await Promise.allSettled(
      Array.from({ length: count }, () => this.oneImage(caller, request, resolved, disconnected)),
    );
    const images = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = made.find((one) => one.status === 'rejected');
    if (failed && images.length === 0) throw failed.reason as Error;
    if (failed) ignored.add('n');
    return { created: Math.floor(Date.now() / 1_000), data: images };
  }

  private async oneImage(
    caller: Caller,
    { model, prompt, size, seed, response_format: format }: z.output<typeof imageRequest>,
    resolved: ResolvedMediaModel,
    disconnected: AbortSignal,
  ): Promise<ImagesView['data'][number]> {
    const asked = {
      model,
      prompt,
      ...(size && size !== ANY_SIZE && { size }),
      ...(typeof seed === 'number' && { seed }),
    };
    const begun = await this.media.image(caller, asked, disconnected);
    const made = await this.media.finished(caller, model, begun, disconnected);
    const address = made.url ?? made.dataUrl ?? '';
    const wantsAddress = format ? format === 'url' : made.url !== null;
    if (wantsAddress) return { url: address };
    const fetched = async (): Promise<string> =>
      (await this.contents.image(address, resolved, disconnected)).toString('base64');
    return { b64_json: made.b64Json ?? (await fetched()) };
  }

  /** Sound in its own type. Fails like MediaService and ContentService, and with ParameterError. */
  async speech(caller: Caller, body: unknown, { response, disconnected }: Listener): Promise<void> {
    const ignored = IgnoredParameters.of(caller);
    const request = parameters(speechRequest, withoutHints(body, SPEECH_HINTS, ignored));
    const { model, input, voice, response_format: responseFormat, speed, instructions } = request;
    const { adapter } = await this.models.resolveMedia(caller, model, ['audio']);
    // Services of predictions take a voice and a format, and nothing else.
    if (adapter.lookUpPrediction && speed) ignored.add('speed');
    if (adapter.lookUpPrediction && instructions) ignored.add('instructions');
    const asked = {
      model,
      input,
      ...(voice && { voice }),
      ...(responseFormat && { responseFormat }),
      ...(!adapter.lookUpPrediction && speed && { speed }),
      ...(!adapter.lookUpPrediction && instructions && { instructions }),
    };
    const begun = await this.media.speech(caller, asked, disconnected);
    const made = await this.media.finished(caller, model, begun, disconnected);
    const { b64Json, mimeType } = made;
    ignored.name(response);
    if (b64Json !== null) {
      setEnvelopeCode(response, 200);
      response.status(200).type(mimeType ?? 'audio/mpeg');
      response.send(Buffer.from(b64Json, 'base64'));
      return;
    }
    if (begun.id === null) {
      throw new ParameterError(
        'model',
        msg`The service of this model answers the address of a sound. Use POST /media/speech, or another model.`,
      );
    }
    const sound = { ...made, type: 'audio' } as const;
    await this.contents.sendResult(begun.id, sound, { response, disconnected });
  }
}
