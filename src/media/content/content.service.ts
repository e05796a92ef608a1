import type { ServerResponse } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { ResolvedMediaModel } from '../../model/index.js';
import type { MediaResult, MediaType } from '../../provider/index.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { msg } from '../../platform/message/index.js';
import { isCompleted, MediaService } from '../media.service.js';
import {
  contentAddress,
  ContentMemoryError,
  ContentNotReadyError,
  ContentRefusedError,
  publicAddress,
} from './content.checks.js';
import { ContentClient } from './content.client.js';
import type { ContentQuery } from '../media.dto.js';
import {
  ClientGoneError,
  ContentResource,
  ContentWriter,
  MAX_CONTENT_BYTES,
  tooLarge,
} from './content.stream.js';

/** The client's response; `disconnected` aborts when the client closes the connection. */
interface Client {
  readonly response: ServerResponse;
  readonly disconnected: AbortSignal;
}

/** The state of a task as its service reports it. */
type Prediction = Pick<MediaResult, 'id' | 'status' | 'url' | 'type'>;

interface ResourceAddress {
  readonly address: string;
  readonly type: MediaType;
}

const MIB = 2 ** 20;

/** Memory of a process for results that were fetched without a declared length. */
export const CONTENT_MEMORY = { bytes: 256 * MIB };

/** Fetches what media services answer the address of, so that clients need neither its host nor its address. Nothing is stored. */
@Injectable()
export class ContentService {
  private readonly logger = new Logger('Media');
  /** Bytes that all requests of this process hold for resources of unknown length. */
  private bufferedBytes = 0;

  constructor(
    private readonly media: MediaService,
    private readonly client: ContentClient,
    private readonly http: OutboundHttp,
    @Inject(CONFIG) private readonly config: Config,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'plinth_media_content_bytes',
      'Bytes of media that are held until their length is known or sent',
      async () => this.bufferedBytes,
    );
  }

  /**
   * Writes the resource as the answer. Every refusal comes before the first byte, as an error with its reason; what
   * fails afterwards destroys the connection, so that half a resource is never taken for a whole one.
   */
  async send(caller: Caller, query: ContentQuery, client: Client): Promise<void> {
    const prediction = await this.media.lookUpPrediction(caller, query, client.disconnected);
    await this.sendResult(query.predictionId, prediction, client);
  }

  /** Does the same as `send` for a prediction that was already looked up. */
  async sendResult(
    predictionId: string,
    prediction: Prediction,
    { response, disconnected }: Client,
  ): Promise<void> {
    const { address, type } = this.resourceOf(predictionId, prediction);
    const answer = await this.client.get(address, disconnected);
    const resource = await this.client.reasoned(() => ContentResource.open(answer, type));
    const writer = new ContentWriter(response);
    try {
      if (resource.length === undefined) await this.sendCollected(resource, writer);
      else await this.sendStreamed(resource, resource.length, writer);
    } catch (error) {
      if (!response.headersSent) throw error;
      response.destroy();
      if (!(error instanceof ClientGoneError) && !disconnected.aborted) {
        this.logger.warn({ msg: 'Media stream interrupted', err: error });
      }
    } finally {
      await resource.close();
    }
  }

  /**
   * The image at an address that a model has answered: of any public host, or of the model's own service, wherever that is.
   * Fails like `send`.
   */
  async image(
    address: string,
    { connection }: { readonly connection: Pick<ResolvedMediaModel['connection'], 'address'> },
    signal: AbortSignal,
  ): Promise<Buffer> {
    const isOwn = URL.parse(address)?.origin === URL.parse(connection.address)?.origin;
    const answer = await (isOwn
      ? this.client.get(address, signal, this.http)
      : this.client.get(publicAddress(address, this.client.port), signal));
    const resource = await this.client.reasoned(() => ContentResource.open(answer, 'image'));
    const reservation = { bytes: 0 };
    try {
      return Buffer.concat(await this.client.reasoned(() => this.collect(resource, reservation)));
    } finally {
      this.bufferedBytes -= reservation.bytes;
      await resource.close();
    }
  }

  private resourceOf(predictionId: string, { id, status, url, type }: Prediction): ResourceAddress {
    if (id !== predictionId) {
      throw new ContentRefusedError(
        msg`The provider answered another task than the one asked for.`,
      );
    }
    if (!isCompleted(status)) throw new ContentNotReadyError(status);
    if (url === null) {
      throw new ContentRefusedError(
        msg`The task is completed, but the provider named no resource.`,
      );
    }
    const rules = { hosts: this.config.MEDIA_CONTENT_HOSTS, port: this.client.port };
    return { address: contentAddress(url, type, rules), type };
  }

  private async sendStreamed(
    resource: ContentResource,
    length: number,
    writer: ContentWriter,
  ): Promise<void> {
    writer.begin(resource.type, length);
    for (let bytes = await resource.read(); bytes; bytes = await resource.read()) {
      await writer.write(bytes);
    }
    await writer.end();
  }

  /** An interrupted stream without a length looks complete, so nothing is sent before its end was received. */
  private async sendCollected(resource: ContentResource, writer: ContentWriter): Promise<void> {
    const reservation = { bytes: 0 };
    try {
      const pieces = await this.client.reasoned(() => this.collect(resource, reservation));
      writer.begin(resource.type, reservation.bytes);
      for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
        await writer.write(piece);
        this.bufferedBytes -= piece.length;
        reservation.bytes -= piece.length;
      }
      await writer.end();
    } finally {
      this.bufferedBytes -= reservation.bytes;
    }
  }

  /** Collects the resource and adds its bytes to the reservation. ContentMemoryError beyond the limit of the process. */
  private async collect(
    resource: ContentResource,
    reservation: { bytes: number },
  ): Promise<Buffer[]> {
    const pieces: Buffer[] = [];
    for (let bytes = await resource.read(); bytes; bytes = await resource.read()) {
      if (reservation.bytes + bytes.length > MAX_CONTENT_BYTES) throw tooLarge();
      if (this.bufferedBytes + bytes.length > CONTENT_MEMORY.bytes) {
        throw new ContentMemoryError();
      }
      this.bufferedBytes += bytes.length;
      reservation.bytes += bytes.length;
      pieces.push(bytes);
    }
    return pieces;
  }
}
