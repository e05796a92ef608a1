import { z } from 'zod';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelConnection } from '../model-call.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import { UpstreamError } from '../upstream.error.js';
import { FAMILY_ENDPOINTS, withoutEndpoint } from '../address.js';
import type { Secrets } from '../safe-text.js';
import {
  getMedia,
  keyedRequest,
  postMedia,
  taskSegment,
  optionalField,
  textOr,
} from './media-exchange.js';
import type { LookupRequest } from './media-exchange.js';
import type {
  ImageCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  MediaType,
  PredictionLookup,
  SpeechCall,
  VideoCall,
} from './media.adapter.js';
import { wireId, wireText, emptyMediaResult, linkedMedium, toMediaResult } from './media-result.js';

/** A kind of task: its result, its path and its request. */
interface Order {
  readonly type: MediaType;
  readonly path: string;
  readonly body: unknown;
}

/** Images, speech and videos as predictions: POST /model/generate…, then GET /model/prediction/{id}; a bearer key. */
export class MediaAsyncAdapter extends NamedAdapter implements MediaAdapter {
  constructor(
    private readonly http: OutboundHttp,
    names: AdapterNames,
  ) {
    super(names);
  }

  image(
    call: ImageCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const body = toImageBody(call);
    return this.create({ type: 'image', path: '/model/generateImage', body }, connection, options);
  }

  speech(
    call: SpeechCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const body = toAudioBody(call);
    return this.create({ type: 'audio', path: '/model/generateAudio', body }, connection, options);
  }

  video(
    call: VideoCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const body = toVideoBody(call);
    return this.create({ type: 'video', path: '/model/generateVideo', body }, connection, options);
  }

  lookUpVideo(
    id: string,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    return this.lookUpPrediction({ id, type: 'video' }, connection, options);
  }

  async lookUpPrediction(
    lookup: PredictionLookup,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const { id, type } = lookup;
    const request = requestTo(`/model/prediction/${taskSegment(id)}`, connection);
    try {
      const answer = await getMedia(this.http, request, options);
      return toPredictionResult(type, answer, connection, id);
    } catch (error) {
      if (error instanceof UpstreamError && error.status === 404) return unknownPrediction(lookup);
      throw error;
    }
  }

  private async create(
    { type, path, body }: Order,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...requestTo(path, connection), body };
    return toPredictionResult(type, await postMedia(this.http, request, options), connection);
  }
}

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
  const { origin, path } = withoutEndpoint(address, ENDPOINTS);
  return `${origin}${path.replace(/(\/api)?\/v1$/, '')}/api/v1`;
}

function requestTo(path: string, connection: ModelConnection): LookupRequest {
  return keyedRequest(`${mediaAsyncBase(connection.address)}${path}`, connection);
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

const SIZE_BY_RATIO: ReadonlyMap<string, string> = new Map([
  ['1:1', '1024*1024'],
  ['3:2', '1152*768'],
  ['4:3', '1152*864'],
  ['16:9', '1360*768'],
  ['9:16', '768*1360'],
]);
const DEFAULT_SIZE = '1024*1024';

/** The size that is sent: ratios of the table become sizes, `W*H` and `WxH` stay, anything else is the default. */
export function imageSize(size: string | undefined): string {
  const wanted = size?.trim() ?? '';
  return SIZE_BY_RATIO.get(wanted) ?? (/[*x]/i.test(wanted) ? wanted : DEFAULT_SIZE);
}

/** The same for models of the gpt-image family, which have one square, one landscape and one portrait size. */
export function gptImageSize(size: string | undefined): string {
  const [, width, height] = /^\s*(\d+)\s*[:*x]\s*(\d+)\s*$/i.exec(size ?? '') ?? [];
  const surplus = Number(width ?? 1) - Number(height ?? 1);
  if (surplus === 0) return '1024x1024';
  return surplus > 0 ? '1536x1024' : '1024x1536';
}

/** A link, or an object with one. */
const resource = z
  .union([z.string(), z.object({ url: wireText, video_url: wireText }).transform(linkOf)])
  .nullish()
  .catch(null);

/** Models name the last frame of a video differently. */
const lastFrames = {
  last_frame_url: resource,
  end_frame_url: resource,
  last_frame: resource,
  last_frame_image: resource,
};

/** A link, or an object with one and, for some videos, with the last frame. */
const output = z
  .union([z.string(), z.object({ url: wireText, video_url: wireText, ...lastFrames })])
  .nullish()
  .catch(null);

const predictionSchema = z.object({
  data: z.object({
    id: wireId,
    status: wireText,
    /** A list; of some models the one output itself. */
    outputs: z
      .union([z.array(output), output.transform((one) => [one])])
      .nullish()
      .catch(null),
    ...lastFrames,
  }),
});

interface Links {
  readonly url?: string | null | undefined;
  readonly video_url?: string | null | undefined;
}

type LastFrames = Partial<Readonly<Record<keyof typeof lastFrames, string | null | undefined>>>;

function linkOf(holder: Links): string | null {
  return holder.url ?? holder.video_url ?? null;
}

function lastFrameOf(holder: LastFrames | undefined): string | null | undefined {
  return (
    holder?.last_frame_url ??
    holder?.end_frame_url ??
    holder?.last_frame ??
    holder?.last_frame_image
  );
}

/** Maps a new or looked-up prediction; `requestedId` is given for the latter. Throws UpstreamError. */
export function toPredictionResult(
  type: MediaType,
  answer: unknown,
  secrets: Secrets,
  requestedId?: string,
): MediaResult {
  const { data } = predictionSchema.safeParse(answer).data ?? {};
  const outputs = data?.outputs ?? [];
  const [first] = outputs;
  const inOutputs = outputs
    .map((one) => (typeof one === 'string' ? undefined : lastFrameOf(one ?? undefined)))
    .find((link) => typeof link === 'string');
  const finding = {
    type,
    medium: linkedMedium(typeof first === 'string' ? first : linkOf(first ?? {})),
    id: data?.id,
    status: data?.status,
    lastFrameUrl: lastFrameOf(data) ?? inOutputs,
  };
  return toMediaResult(finding, answer, secrets, requestedId);
}

/** The answer to a lookup of a task that the service does not know, or no longer. */
export function unknownPrediction({ id, type }: PredictionLookup): MediaResult {
  return { ...emptyMediaResult(type), id, status: 'failed' };
}
