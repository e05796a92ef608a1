import { OutboundError } from '../../../../platform/outbound/index.js';
import type { OutboundHttp, OutboundResponse } from '../../../../platform/outbound/index.js';
import { bearerOf } from '../../bearer.js';
import type { ModelConnection } from '../../model-call.js';
import { jsonOf } from '../../model-exchange.js';
import { NamedAdapter } from '../../named-adapter.js';
import type { AdapterNames } from '../../named-adapter.js';
import { upstreamErrorOf } from '../../upstream-failure.js';
import { getMedia, postForMedium, postMedia } from '../media-exchange.js';
import { emptyResult } from '../media-result.js';
import type {
  ImageCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  SpeechCall,
  VideoCall,
} from '../media.adapter.js';
import { textOr } from '../optional-field.js';
import { taskSegment } from '../task-path.js';
import {
  DEFAULT_FORMAT,
  mediaSyncBase,
  toImageBody,
  toSpeechBody,
  toVideoBody,
} from './media-sync.request.js';
import { toImageResult, toSpeechResult, toVideoResult } from './media-sync.response.js';

/** A sound is held in memory, and as base64 in the answer. */
const LARGEST_SOUND_BYTES = 64 * 1024 * 1024;

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
    const request = { ...this.request(connection, '/images/generations'), body: toImageBody(call) };
    return toImageResult(await postMedia(this.http, request, options), connection);
  }

  async speech(
    call: SpeechCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...this.request(connection, '/audio/speech'), body: toSpeechBody(call) };
    const response = await postForMedium(this.http, request, options);
    if (/json|^text\//.test(response.headers['content-type'] ?? '')) {
      throw emptyResult('audio', await jsonOf(response), connection);
    }
    const format = textOr(call.responseFormat, DEFAULT_FORMAT);
    return toSpeechResult(await soundIn(response), format, connection);
  }

  async video(
    call: VideoCall,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = { ...this.request(connection, '/videos'), body: toVideoBody(call) };
    return toVideoResult(await postMedia(this.http, request, options), connection);
  }

  async lookUpVideo(
    id: string,
    connection: ModelConnection,
    options: MediaCallOptions,
  ): Promise<MediaResult> {
    const request = this.request(connection, `/videos/${taskSegment(id)}`);
    return toVideoResult(await getMedia(this.http, request, options), connection, id);
  }

  private request(
    connection: ModelConnection,
    path: string,
  ): { url: string; headers: Record<string, string>; secrets: ModelConnection } {
    return {
      url: `${mediaSyncBase(connection.address)}${path}`,
      headers: bearerOf(connection.credential),
      secrets: connection,
    };
  }
}

async function soundIn(response: OutboundResponse): Promise<Buffer> {
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of response.body) {
      bytes += piece.length;
      if (bytes > LARGEST_SOUND_BYTES) throw new OutboundError('too-large');
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}
