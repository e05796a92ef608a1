import { endpointOf } from '../../address.js';
import type { ImageCall } from '../media.adapter.js';
import { optionalField, textOr } from '../optional-field.js';
import { taskSegment } from '../task-path.js';

const DEFAULT_SIZE = '1280*1280';
const PREFIX = '/api/v1';

/** The address that takes the request for an image. */
export function synthesisUrl(address: string): string {
  return endpointOf(address, {
    prefix: PREFIX,
    endpoint: '/services/aigc/text2image/image-synthesis',
  });
}

/** The address of a task. */
export function taskUrl(address: string, id: string): string {
  return endpointOf(address, { prefix: PREFIX, endpoint: `/tasks/${taskSegment(id)}` });
}

/** The body of the request for one image. */
export function toSynthesisBody({ model, prompt, size, seed }: ImageCall): Record<string, unknown> {
  return {
    model,
    input: { prompt },
    parameters: { size: textOr(size, DEFAULT_SIZE), n: 1, ...optionalField('seed', seed) },
  };
}
