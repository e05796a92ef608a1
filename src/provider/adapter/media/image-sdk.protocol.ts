import { z } from 'zod';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import type { ModelConnection } from '../model-call.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import { pause, retryCall } from '../model-call.js';
import { UpstreamError } from '../upstream.error.js';
import { errorInAnswer, isRecord, recordIn } from '../vendor-json.js';
import { endpointOf } from '../address.js';
import type { Secrets } from '../safe-text.js';
import {
  getMedia,
  keyedRequest,
  postMedia,
  optionalField,
  textOr,
  taskSegment,
} from './media-exchange.js';
import type { ImageCall, MediaAdapter, MediaCallOptions, MediaResult } from './media.adapter.js';
import { wireId, wireText, emptyResult, linkedMedium, toMediaResult } from './media-result.js';

export interface ImageSdkOptions extends AdapterNames {
  /** The address of the service, whatever apiHost a model has. */
  readonly address: string;
  /** Longest time that one image may take, from the request to the link. */
  readonly pollMs: number;
}

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/** A lookup that fails in passing must not lose an image that is paid for. */
const LOOKUP_ATTEMPTS = 3;

/**
 * DashScope's text-to-image: POST /services/aigc/text2image/image-synthesis starts a task, and GET /tasks/{id} is asked
 * until it is over (https://help.aliyun.com/zh/model-studio/text-to-image-v2-api-reference); a bearer key.
 */
export class ImageSdkAdapter extends NamedAdapter implements MediaAdapter {
  constructor(
    private readonly http: OutboundHttp,
    private readonly options: ImageSdkOptions,
  ) {
    super(options);
  }

  async image(
    call: ImageCall,
    { credential }: ModelConnection,
    { limits, signal }: MediaCallOptions,
  ): Promise<MediaResult> {
    const { address, pollMs } = this.options;
    const connection = { address, ...(credential !== undefined && { credential }) };
    const deadline = AbortSignal.timeout(pollMs);
    try {
      const options = { limits, signal: AbortSignal.any([signal, deadline]) };
      return await this.poll(await this.start(call, connection, options), connection, options);
    } catch (error) {
      if (deadline.aborted && !signal.aborted) throw tooSlow(pollMs);
      throw error;
    }
  }

  private async start(
    call: ImageCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<string> {
    const { headers, ...request } = keyedRequest(synthesisUrl(connection.address), connection);
    const asynchronous = { ...headers, 'x-dashscope-async': 'enable' };
    const posted = { ...request, headers: asynchronous, body: toSynthesisBody(call) };
    return toTaskId(await postMedia(this.http, posted, options), connection);
  }

  private async poll(
    id: string,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const { signal } = options;
    const request = keyedRequest(taskUrl(connection.address, id), connection);
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(MAX_PAUSE_MS, wait * 2)) {
      await pause(wait, signal);
      const lookUp = (): Promise<unknown> => getMedia(this.http, request, options);
      const answer = await retryCall(lookUp, { attempts: LOOKUP_ATTEMPTS, signal });
      const result = toImageResult(answer, connection);
      if (result !== undefined) return result;
    }
  }
}

function tooSlow(pollMs: number): UpstreamError {
  return new UpstreamError({
    kind: 'timeout',
    message: msg`The provider did not finish the image within ${pollMs / 1_000} seconds. Try again.`,
  });
}

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

const taskSchema = z.object({
  output: z.object({
    task_id: wireId,
    task_status: wireText,
    /** An image that could not be made has `code` and `message` instead of `url`. */
    results: z
      .array(z.object({ url: wireText }))
      .nullish()
      .catch(null),
  }),
});

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
