import { isRecord, recordIn } from '../../json-fields.js';
import type { Secrets } from '../../safe-text.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { UpstreamError } from '../../upstream.error.js';
import { emptyResult, linkedMedium, toMediaResult } from '../media-result.js';
import type { MediaResult } from '../media.adapter.js';
import { taskSchema } from './image-sdk.wire.js';

const SUCCEEDED = 'SUCCEEDED';
/** UNKNOWN is said of a task that does not exist (any more). */
const FAILURES: ReadonlySet<string> = new Set(['FAILED', 'CANCELED', 'UNKNOWN']);

/** The id of a new task. Throws UpstreamError. */
export function toTaskId(answer: unknown, secrets: Secrets): string {
  const id = taskSchema.safeParse(answer).data?.output.task_id ?? '';
  if (id === '') throw emptyResult('image', answer, secrets);
  return id;
}

/** The first image of a task, or undefined as long as it is not over. Throws UpstreamError, also for a task that failed. */
export function toImageResult(answer: unknown, secrets: Secrets): MediaResult | undefined {
  const { task_status: status, results } = taskSchema.safeParse(answer).data?.output ?? {};
  if (!status) throw emptyResult('image', answer, secrets);
  if (FAILURES.has(status)) throw taskFailure(status, answer, secrets);
  if (status !== SUCCEEDED) return undefined;
  const link = results?.find(({ url }) => url)?.url;
  return toMediaResult({ type: 'image', medium: linkedMedium(link), status }, answer, secrets);
}

function taskFailure(status: string, answer: unknown, secrets: Secrets): UpstreamError {
  const output = isRecord(answer) ? recordIn(answer, 'output') : undefined;
  return errorInAnswer(
    { code: status, message: `The task ended as ${status}.`, ...output },
    secrets,
  );
}
