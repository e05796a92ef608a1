import { z } from 'zod';
import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { msg } from '../../../platform/message/index.js';
import { protocolError } from '../upstream.error.js';
import { errorInAnswer } from '../vendor-json.js';
import { jsonOf, postFormToModel } from '../model-call.js';
import type { ModelConnection } from '../model-call.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import { completedBase, FAMILY, FAMILY_ENDPOINTS, withoutEndpoint } from '../address.js';
import type { Secrets } from '../safe-text.js';
import {
  getMedia,
  keyedRequest,
  namingPath,
  postForMedium,
  postMedia,
  textOr,
  soundIn,
  taskSegment,
  optionalField,
} from './media-exchange.js';
import type { LookupRequest } from './media-exchange.js';
import {
  emptyResult,
  wireId,
  wireText,
  embeddedMedium,
  emptyMediaResult,
  linkedMedium,
  toMediaResult,
} from './media-result.js';
import { typeOfImage, typeOfSound } from './media-type.js';
import type {
  ImageCall,
  ImageEditCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  Moderation,
  ModerationCall,
  SpeechCall,
  Transcript,
  TranscriptionCall,
  TranscriptionOptions,
  VideoCall,
} from './media.adapter.js';
import { isEventStream, readTranscript, readTranscriptStream } from './transcript.js';

/** The media endpoints beside chat-completions: images and speech answered at once, videos as tasks; a bearer key. */
export class MediaSyncAdapter extends NamedAdapter implements MediaAdapter {
  constructor(
    private readonly http: OutboundHttp,
    names: AdapterNames,
  ) {
    super(names);
  }

  async image(
    call: ImageCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...requestTo('/images/generations', connection), body: toImageBody(call) };
    return toImageResult(await postMedia(this.http, request, options), connection);
  }

  async edit(
    { model, prompt, images, mask, n, fields }: ImageEditCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<readonly MediaResult[]> {
    const request = {
      ...requestTo('/images/edits', connection),
      form: {
        model,
        prompt,
        ...(n > 1 && { n: String(n) }),
        ...fields,
        // Older models take only one image, under this name.
        [images.length > 1 ? 'image[]' : 'image']: images,
        ...(mask && { mask: [mask] }),
      },
    };
    const response = await namingPath(request, () => postFormToModel(this.http, request, options));
    return toImageResults(await jsonOf(response), connection);
  }

  async speech(
    call: SpeechCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...requestTo('/audio/speech', connection), body: toSpeechBody(call) };
    const response = await postForMedium(this.http, request, options);
    if (/json|^text\//.test(response.headers['content-type'] ?? '')) {
      throw emptyResult('audio', await jsonOf(response), connection);
    }
    const format = textOr(call.responseFormat, DEFAULT_FORMAT);
    return toSpeechResult(await soundIn(response), format, connection);
  }

  async moderate(
    call: ModerationCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<Moderation> {
    const request = { ...requestTo('/moderations', connection), body: call };
    return toModeration(await postMedia(this.http, request, options), connection);
  }

  async transcribe(
    { model, file, task, format, fields }: TranscriptionCall,
    connection: ModelConnection,
    { onEvent, ...options }: TranscriptionOptions,
  ): Promise<Transcript> {
    const path = task === 'translate' ? '/audio/translations' : '/audio/transcriptions';
    const request = {
      ...requestTo(path, connection),
      form: {
        model,
        // Services use this format by default, and some know no other.
        ...(format !== 'json' && { response_format: format }),
        ...fields,
        ...(onEvent && { stream: 'true' }),
        file: [file],
      },
    };
    const response = await namingPath(request, () => postFormToModel(this.http, request, options));
    if (onEvent && isEventStream(response)) {
      return readTranscriptStream(response, connection, onEvent);
    }
    const transcript = await readTranscript(response, format, connection);
    await onEvent?.({ type: 'transcript.text.delta', delta: transcript.text });
    return transcript;
  }

  async video(
    call: VideoCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...requestTo('/videos', connection), body: toVideoBody(call) };
    return toVideoResult(await postMedia(this.http, request, options), connection);
  }

  async lookUpVideo(
    id: string,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = requestTo(`/videos/${taskSegment(id)}`, connection);
    return toVideoResult(await getMedia(this.http, request, options), connection, id);
  }
}

type Body = Record<string, unknown>;

const DEFAULT_VOICE = 'alloy';
const DEFAULT_FORMAT = 'mp3';
/** Users copy complete addresses from documentation. */
const ENDPOINTS = [
  ...['/images/generations', '/images/edits', '/videos', '/moderations'],
  ...['/audio/speech', '/audio/transcriptions', '/audio/translations'],
  ...FAMILY_ENDPOINTS,
];

/** A base without a version gets one; Gemini and DeepInfra have the compatible API below their version. */
const BASES = [...FAMILY.bases, [/(?<!\/v\d[^/]*(?:\/openai)?)$/, '/v1']] as const;

/** The base that paths are appended to, as the chat models of the same address have it. Throws InvalidAddressError. */
export function mediaSyncBase(address: string): string {
  const { origin, path } = withoutEndpoint(address, ENDPOINTS);
  return `${origin}${completedBase(path, BASES)}`;
}

function requestTo(path: string, connection: ModelConnection): LookupRequest {
  return keyedRequest(`${mediaSyncBase(connection.address)}${path}`, connection);
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

const wireImage = z.object({ url: wireText, b64_json: wireText });
type WireImage = z.infer<typeof wireImage>;
const items = z.array(wireImage).nullish().catch(null);

const imagesSchema = z.object({ data: items });

const videoSchema = z.object({ id: wireId, status: wireText, url: wireText, data: items });

/** Maps an answer of /images/generations: the first image, by link or embedded. Throws UpstreamError. */
export function toImageResult(answer: unknown, secrets: Secrets): MediaResult {
  const [image] = imagesSchema.safeParse(answer).data?.data ?? [];
  return toMediaResult({ type: 'image', medium: mediumOf(image) }, answer, secrets);
}

/** Maps all images of an answer. Throws UpstreamError for none. */
export function toImageResults(answer: unknown, secrets: Secrets): readonly MediaResult[] {
  const images = imagesSchema.safeParse(answer).data?.data ?? [];
  if (images.length === 0) throw emptyResult('image', answer, secrets);
  return images.map((image) =>
    toMediaResult({ type: 'image', medium: mediumOf(image) }, answer, secrets),
  );
}

function mediumOf(image: WireImage | undefined): Parameters<typeof toMediaResult>[0]['medium'] {
  return { ...linkedMedium(image?.url), ...embeddedMedium(image?.b64_json, typeOfImage) };
}

/** Maps an answer of /videos or /videos/{id}; `requestedId` is given for the latter. Throws UpstreamError. */
export function toVideoResult(
  answer: unknown,
  secrets: Secrets,
  requestedId?: string,
): MediaResult {
  const { id, status, url, data } = videoSchema.safeParse(answer).data ?? {};
  const medium = linkedMedium(url ?? data?.[0]?.url);
  return toMediaResult({ type: 'video', medium, id, status }, answer, secrets, requestedId);
}

/** Maps the bytes that /audio/speech answers, asked for in a format. Throws UpstreamError. */
export function toSpeechResult(bytes: Buffer, format: string, secrets: Secrets): MediaResult {
  if (bytes.length === 0) throw emptyResult('audio', undefined, secrets);
  const medium = embeddedMedium(bytes.toString('base64'), () => typeOfSound(bytes, format));
  return { ...emptyMediaResult('audio'), ...medium };
}

const moderationSchema = z.looseObject({
  results: z.array(
    z.looseObject({
      flagged: z.boolean().optional().catch(undefined),
      categories: z.record(z.string(), z.unknown()),
    }),
  ),
  usage: z
    .object({ prompt_tokens: z.number().optional(), total_tokens: z.number().optional() })
    .nullish()
    .catch(undefined),
});

/** Maps an answer of /moderations. Mistral's does not say `flagged`: a category is. Throws UpstreamError. */
export function toModeration(answer: unknown, secrets: Secrets): Moderation {
  const read = moderationSchema.safeParse(answer).data;
  if (!read) throw noModeration(answer, secrets);
  const { results, usage } = read;
  const { prompt_tokens: inputTokens, total_tokens: totalTokens } = usage ?? {};
  return {
    answer: {
      ...read,
      results: results.map(({ flagged, ...result }) => ({
        flagged: flagged ?? Object.values(result.categories).includes(true),
        ...result,
      })),
    },
    ...(usage && { usage: { inputTokens, totalTokens, outputTokens: 0, raw: usage } }),
  };
}

function noModeration(answer: unknown, secrets: Secrets): Error {
  const { error } = (answer ?? {}) as { error?: unknown };
  if (typeof error === 'object' && error !== null) return errorInAnswer(error, secrets);
  return protocolError(msg`The provider answered no judgement.`);
}
