import type { ImageBody, MediaResultView, SpeechBody, VideoBody } from '@plinth/client';
import { plinth } from '../app/plinth';

export const KINDS = ['image', 'audio', 'video'] as const;
export type Kind = (typeof KINDS)[number];

export type MediaRequest =
  | { readonly kind: 'image'; readonly body: ImageBody }
  | { readonly kind: 'audio'; readonly body: SpeechBody }
  | { readonly kind: 'video'; readonly body: VideoBody };

/** Identifies a task of a model at the service named by the provider's code. */
export interface TaskReference {
  readonly kind: Kind;
  readonly model: string;
  readonly providerCode: string;
  readonly id: string;
}

/** URL of a medium and whether it must be revoked. */
export interface Medium {
  readonly url: string;
  readonly mimeType: string | null;
  /** Whether the URL is an object URL, which must be revoked when the record is removed. */
  readonly isLocal: boolean;
}

export type Progress = 'running' | 'done' | 'failed';

/** Providers whose tasks are predictions. Tasks of other providers are videos. */
const PREDICTIONS: readonly string[] = ['media_async', 'atlas'];
const DONE: readonly string[] = ['completed', 'succeeded', 'success'];

export function begin(request: MediaRequest, signal: AbortSignal): Promise<MediaResultView> {
  if (request.kind === 'image') return plinth.mediaImage({ body: request.body, signal });
  if (request.kind === 'audio') return plinth.mediaSpeech({ body: request.body, signal });
  return plinth.mediaVideo({ body: request.body, signal });
}

export function lookUp(task: TaskReference, signal: AbortSignal): Promise<MediaResultView> {
  const { model, id, providerCode } = task;
  return PREDICTIONS.includes(providerCode)
    ? plinth.mediaLookUpPrediction({ query: { model, predictionId: id }, signal })
    : plinth.mediaLookUpVideo({ query: { model, videoId: id }, signal });
}

/** State of a result. Without a status, it is complete; a finished task without a medium counts as running. */
export function progressOf(result: MediaResultView, providerCode: string): Progress {
  if (result.status === 'failed') return 'failed';
  const isDone = result.status === null || DONE.includes(result.status);
  const hasMedium = result.dataUrl !== null || result.b64Json !== null || result.url !== null;
  return isDone && (hasMedium || PREDICTIONS.includes(providerCode)) ? 'done' : 'running';
}

/** The medium of a finished result. Media of predictions are proxied by Plinth, so the page needs no other host. */
export async function mediumOf(
  result: MediaResultView,
  task: TaskReference | undefined,
  signal: AbortSignal,
): Promise<Medium | undefined> {
  const { mimeType, dataUrl, b64Json, url } = result;
  if (dataUrl) return { url: dataUrl, mimeType, isLocal: false };
  if (b64Json) {
    return { url: `data:${mimeType ?? 'image/png'};base64,${b64Json}`, mimeType, isLocal: false };
  }
  if (task && PREDICTIONS.includes(task.providerCode)) {
    try {
      const content = await plinth.mediaContentGet({
        query: { model: task.model, predictionId: task.id },
        signal,
      });
      const blob = content as Blob;
      return { url: URL.createObjectURL(blob), mimeType: blob.type, isLocal: true };
    } catch (error) {
      // Plinth may not fetch from this host, so the provider's own URL is used.
      if (!url || signal.aborted) throw error;
    }
  }
  return url ? { url, mimeType, isLocal: false } : undefined;
}
