import type { OutboundHttp } from '../../../../platform/outbound/index.js';
import { bearerOf } from '../../bearer.js';
import type { ModelConnection } from '../../model-call.js';
import { NamedAdapter } from '../../named-adapter.js';
import type { AdapterNames } from '../../named-adapter.js';
import { UpstreamError } from '../../upstream.error.js';
import { getMedia, postMedia } from '../media-exchange.js';
import type {
  ImageCall,
  MediaAdapter,
  MediaCallOptions,
  MediaResult,
  MediaType,
  PredictionLookup,
  SpeechCall,
  VideoCall,
} from '../media.adapter.js';
import { taskSegment } from '../task-path.js';
import { mediaAsyncBase, toAudioBody, toImageBody, toVideoBody } from './media-async.request.js';
import { toPredictionResult, unknownPrediction } from './media-async.response.js';

/** One kind of work: what it makes, where it is asked for, and how. */
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
    const request = this.request(connection, `/model/prediction/${taskSegment(id)}`);
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
    const request = { ...this.request(connection, path), body };
    return toPredictionResult(type, await postMedia(this.http, request, options), connection);
  }

  private request(
    connection: ModelConnection,
    path: string,
  ): { url: string; headers: Record<string, string>; secrets: ModelConnection } {
    return {
      url: `${mediaAsyncBase(connection.address)}${path}`,
      headers: bearerOf(connection.credential),
      secrets: connection,
    };
  }
}
