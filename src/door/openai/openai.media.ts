import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { setEnvelopeCode } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { ContentService, MediaService } from '../../media/index.js';
import { ModelResolver } from '../../model/index.js';
import { ParameterError, UnsupportedParameterError } from '../answer/door.errors.js';
import { modelName, parameters, plainText } from '../answer/parameters.js';
import type { ImagesView } from './openai.view.js';

const LONGEST_TEXT = 100_000;
const LONGEST_WORD = 200;
/** The size that a request leaves to the model. */
const ANY_SIZE = 'auto';

const word = plainText(LONGEST_WORD).nullish();
const imageRequest = z.strictObject({
  model: modelName,
  prompt: plainText(LONGEST_TEXT),
  n: z.literal(1).nullish(),
  size: word,
  response_format: z.enum(['url', 'b64_json']).nullish(),
  user: z.string().nullish(),
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
   * One image. Where base64 is asked for and the service answers an address, the image is fetched. Fails like MediaService and
   * ContentService, and with ParameterError.
   */
  async image(caller: Caller, body: unknown, disconnected: AbortSignal): Promise<ImagesView> {
    const request = parameters(imageRequest, body);
    const { model, prompt, size, response_format: format } = request;
    const resolved = await this.models.resolveMedia(caller, model, ['image']);
    const asked = { model, prompt, ...(size && size !== ANY_SIZE && { size }) };
    const begun = await this.media.image(caller, asked, disconnected);
    const made = await this.media.finished(caller, model, begun, disconnected);
    const address = made.url ?? made.dataUrl ?? '';
    const wantsAddress = format ? format === 'url' : made.url !== null;
    const fetched = async (): Promise<string> =>
      (await this.contents.image(address, resolved, disconnected)).toString('base64');
    return {
      created: Math.floor(Date.now() / 1_000),
      data: [wantsAddress ? { url: address } : { b64_json: made.b64Json ?? (await fetched()) }],
    };
  }

  /** Sound in its own type. Fails like MediaService and ContentService, and with ParameterError. */
  async speech(caller: Caller, body: unknown, { response, disconnected }: Listener): Promise<void> {
    const request = parameters(speechRequest, body);
    const { model, input, voice, response_format: responseFormat, speed, instructions } = request;
    const { adapter } = await this.models.resolveMedia(caller, model, ['audio']);
    // Services of predictions take a voice and a format, and nothing else.
    if (adapter.lookUpPrediction && speed) throw new UnsupportedParameterError('speed');
    if (adapter.lookUpPrediction && instructions) {
      throw new UnsupportedParameterError('instructions');
    }
    const asked = {
      model,
      input,
      ...(voice && { voice }),
      ...(responseFormat && { responseFormat }),
      ...(speed && { speed }),
      ...(instructions && { instructions }),
    };
    const begun = await this.media.speech(caller, asked, disconnected);
    const made = await this.media.finished(caller, model, begun, disconnected);
    const { b64Json, mimeType } = made;
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
