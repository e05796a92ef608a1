import { FAMILY_ENDPOINTS, parseAddress, withoutSlashes } from '../../address.js';
import type { ImageCall, SpeechCall, VideoCall } from '../media.adapter.js';
import { optionalField, textOr } from '../optional-field.js';

type Body = Record<string, unknown>;

const DEFAULT_VOICE = 'alloy';
export const DEFAULT_FORMAT = 'mp3';
/** People copy whole addresses from documentation. */
const ENDPOINTS = ['/images/generations', '/audio/speech', '/videos', ...FAMILY_ENDPOINTS];

/** The base that paths are appended to: the address without slashes at its end, and always with `/v1`. Throws InvalidAddressError. */
export function mediaSyncBase(address: string): string {
  const url = parseAddress(address);
  let path = withoutSlashes(url.pathname);
  const given = ENDPOINTS.find((endpoint) => path.endsWith(endpoint));
  if (given !== undefined) path = withoutSlashes(path.slice(0, -given.length));
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`;
}

/** The body of POST /images/generations. Models of the gpt-image family refuse a seed. */
export function toImageBody({ model, prompt, size, seed }: ImageCall): Body {
  const takesSeed = !model.toLowerCase().includes('gpt-image');
  return {
    model,
    prompt,
    n: 1,
    ...optionalField('size', size),
    ...(takesSeed && optionalField('seed', seed)),
  };
}

/** The body of POST /audio/speech. */
export function toSpeechBody(call: SpeechCall): Body {
  return {
    model: call.model,
    input: call.input,
    voice: textOr(call.voice, DEFAULT_VOICE),
    response_format: textOr(call.responseFormat, DEFAULT_FORMAT),
    ...optionalField('speed', call.speed),
    ...optionalField('instructions', call.instructions),
  };
}

/** The body of POST /videos, whose `seconds` is a text in the published API ("4", "8"). */
export function toVideoBody({ model, prompt, size, seconds, quality }: VideoCall): Body {
  return {
    model,
    prompt,
    ...optionalField('size', size),
    ...optionalField('seconds', seconds?.toString()),
    ...optionalField('quality', quality),
  };
}
