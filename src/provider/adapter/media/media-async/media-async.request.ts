import { FAMILY_ENDPOINTS, parseAddress, withoutSlashes } from '../../address.js';
import type { ImageCall, SpeechCall, VideoCall } from '../media.adapter.js';
import { optionalField, textOr } from '../optional-field.js';
import { gptImageSize, imageSize } from './image-size.js';

type Body = Record<string, unknown>;

/** People copy whole addresses from documentation. */
const ENDPOINTS = [
  '/model/generateImage',
  '/model/generateAudio',
  '/model/generateVideo',
  '/model/prediction',
  ...FAMILY_ENDPOINTS,
];
const GPT_IMAGE = 'openai/gpt-image-';
const GPT_IMAGE_FIELDS = {
  enable_base64_output: false,
  output_format: 'jpeg',
  quality: 'high',
  moderation: 'low',
};
const DEFAULT_FORMAT = 'mp3';

/**
 * The base that paths are appended to: always with `/api/v1`, to which a `/v1` at the end, the address of the same
 * vendor's chat models, is completed. Throws InvalidAddressError.
 */
export function mediaAsyncBase(address: string): string {
  const url = parseAddress(address);
  let path = withoutSlashes(url.pathname);
  const given = ENDPOINTS.find((endpoint) => path.endsWith(endpoint));
  if (given !== undefined) path = withoutSlashes(path.slice(0, -given.length));
  return `${url.origin}${path.replace(/(\/api)?\/v1$/, '')}/api/v1`;
}

/** The body of POST /model/generateImage, which answers a task. */
export function toImageBody({ model, prompt, size, seed }: ImageCall): Body {
  const isGptImage = model.startsWith(GPT_IMAGE);
  return {
    model,
    prompt,
    size: isGptImage ? gptImageSize(size) : imageSize(size),
    ...optionalField('seed', seed),
    enable_sync_mode: false,
    ...(isGptImage && GPT_IMAGE_FIELDS),
  };
}

/** The body of POST /model/generateAudio. The service has no field for speed and instructions. */
export function toAudioBody({ model, input, voice, responseFormat }: SpeechCall): Body {
  const { speaker } = optionalField('speaker', voice);
  return {
    model,
    text: input,
    format: textOr(responseFormat, DEFAULT_FORMAT),
    ...(speaker !== undefined && { references: [{ speaker }] }),
  };
}

/** The body of POST /model/generateVideo. */
export function toVideoBody({ model, prompt, size, seconds, quality }: VideoCall): Body {
  return {
    model,
    prompt,
    ...optionalField('size', size),
    ...optionalField('duration', seconds),
    ...optionalField('quality', quality),
  };
}
