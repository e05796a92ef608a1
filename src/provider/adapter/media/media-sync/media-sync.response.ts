import type { Secrets } from '../../safe-text.js';
import {
  embeddedMedium,
  emptyMediaResult,
  emptyResult,
  linkedMedium,
  toMediaResult,
} from '../media-result.js';
import type { MediaResult } from '../media.adapter.js';
import { imagesSchema, videoSchema } from './media-sync.wire.js';
import { soundType } from './sound-format.js';

/** Maps an answer of /images/generations: the first image, by link or embedded. Throws UpstreamError. */
export function toImageResult(answer: unknown, secrets: Secrets): MediaResult {
  const [image] = imagesSchema.safeParse(answer).data?.data ?? [];
  const medium = { ...linkedMedium(image?.url), ...embeddedMedium(image?.b64_json, 'image/png') };
  return toMediaResult({ type: 'image', medium }, answer, secrets);
}

/** Maps an answer of /videos or /videos/{id}; `askedId` is given for the latter. Throws UpstreamError. */
export function toVideoResult(answer: unknown, secrets: Secrets, askedId?: string): MediaResult {
  const { id, status, url, data } = videoSchema.safeParse(answer).data ?? {};
  const medium = linkedMedium(url ?? data?.[0]?.url);
  return toMediaResult({ type: 'video', medium, id, status }, answer, secrets, askedId);
}

/** Maps the bytes that /audio/speech answers, asked for in a format. Throws UpstreamError. */
export function toSpeechResult(bytes: Buffer, format: string, secrets: Secrets): MediaResult {
  if (bytes.length === 0) throw emptyResult('audio', undefined, secrets);
  const medium = embeddedMedium(bytes.toString('base64'), soundType(format, bytes));
  return { ...emptyMediaResult('audio'), ...medium };
}
