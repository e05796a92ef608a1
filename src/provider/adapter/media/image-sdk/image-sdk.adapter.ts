import type { OutboundHttp } from '../../../../platform/outbound/index.js';
import { bearerOf } from '../../bearer.js';
import type { ModelConnection } from '../../model-call.js';
import { NamedAdapter } from '../../named-adapter.js';
import type { AdapterNames } from '../../named-adapter.js';
import { pause, retryCall } from '../../retry.js';
import { UpstreamError } from '../../upstream.error.js';
import { getMedia, postMedia } from '../media-exchange.js';
import type { ImageCall, MediaAdapter, MediaCallOptions, MediaResult } from '../media.adapter.js';
import { synthesisUrl, taskUrl, toSynthesisBody } from './image-sdk.request.js';
import { toImageResult, toTaskId } from './image-sdk.response.js';

export interface ImageSdkOptions extends AdapterNames {
  /** The address of the service, whatever apiHost a model has. */
  readonly address: string;
  /** Longest time that one image may take, from the request to the link. */
  readonly pollMs: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
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
    const request = {
      url: synthesisUrl(connection.address),
      headers: { ...bearerOf(connection.credential), 'x-dashscope-async': 'enable' },
      body: toSynthesisBody(call),
      secrets: connection,
    };
    return toTaskId(await postMedia(this.http, request, options), connection);
  }

  private async poll(
    id: string,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const { signal } = options;
    const request = {
      url: taskUrl(connection.address, id),
      headers: bearerOf(connection.credential),
      secrets: connection,
    };
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 2)) {
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
    message: `The provider did not finish the image within ${pollMs / 1_000} seconds. Try again; an operator can raise MEDIA_POLL_SECONDS.`,
  });
}
