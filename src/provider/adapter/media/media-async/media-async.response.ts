import type { Secrets } from '../../safe-text.js';
import { emptyMediaResult, linkedMedium, toMediaResult } from '../media-result.js';
import type { MediaResult, MediaType, PredictionLookup } from '../media.adapter.js';
import { predictionSchema } from './media-async.wire.js';

/** Maps a new or looked-up prediction; `askedId` is given for the latter. Throws UpstreamError. */
export function toPredictionResult(
  type: MediaType,
  answer: unknown,
  secrets: Secrets,
  askedId?: string,
): MediaResult {
  const { data } = predictionSchema.safeParse(answer).data ?? {};
  const finding = {
    type,
    medium: linkedMedium(data?.outputs?.[0]),
    id: data?.id,
    status: data?.status,
    lastFrameUrl:
      data?.last_frame_url ?? data?.end_frame_url ?? data?.last_frame ?? data?.last_frame_image,
  };
  return toMediaResult(finding, answer, secrets, askedId);
}

/** The answer to a lookup of a task that the service does not know, or no longer. */
export function unknownPrediction({ id, type }: PredictionLookup): MediaResult {
  return { ...emptyMediaResult(type), id, status: 'failed' };
}
