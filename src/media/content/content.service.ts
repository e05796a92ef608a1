import type { ServerResponse } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { MediaType } from '../../provider/index.js';
import { MediaLookup } from '../media.lookup.js';
import { contentAddress } from './content-address.js';
import { ContentClient } from './content.client.js';
import type { ContentQuery } from './content.dto.js';
import { ContentNotReadyError, ContentRefusedError } from './content.errors.js';
import { ContentMemory } from './content.memory.js';
import type { MemoryReservation } from './content.memory.js';
import { ContentResource, LARGEST_BYTES, tooLarge } from './content.resource.js';
import { ClientGoneError, ContentWriter } from './content.writer.js';

/** Where the answer goes; `disconnected` aborts when the client closes the connection. */
interface Client {
  readonly response: ServerResponse;
  readonly disconnected: AbortSignal;
}

interface Found {
  readonly address: string;
  readonly type: MediaType;
}

const COMPLETED: readonly (string | null)[] = ['completed', 'succeeded', 'success'];

/** Proxies the result of a prediction, so that browsers need neither its host nor its address. Nothing is stored. */
@Injectable()
export class ContentService {
  private readonly logger = new Logger('Media');

  constructor(
    private readonly lookup: MediaLookup,
    private readonly client: ContentClient,
    private readonly memory: ContentMemory,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Writes the resource as the answer. Every refusal comes before the first byte, as an error with its reason; what
   * fails afterwards destroys the connection, so that half a resource is never taken for a whole one.
   */
  async send(
    caller: Caller,
    query: ContentQuery,
    { response, disconnected }: Client,
  ): Promise<void> {
    const { address, type } = await this.find(caller, query, disconnected);
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

  private async find(
    caller: Caller,
    query: ContentQuery,
    disconnected: AbortSignal,
  ): Promise<Found> {
    const { id, status, url, type } = await this.lookup.prediction(caller, query, disconnected);
    if (id !== query.predictionId) {
      throw new ContentRefusedError('The provider answered another task than the one asked for.');
    }
    if (!COMPLETED.includes(status)) throw new ContentNotReadyError(status);
    if (url === null) {
      throw new ContentRefusedError('The task is completed, but the provider named no resource.');
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
    const reservation = this.memory.open();
    try {
      const pieces = await this.client.reasoned(() => collected(resource, reservation));
      writer.begin(
        resource.type,
        pieces.reduce((sum, { length }) => sum + length, 0),
      );
      for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
        await writer.write(piece);
        reservation.release(piece.length);
      }
      await writer.end();
    } finally {
      reservation.close();
    }
  }
}

async function collected(
  resource: ContentResource,
  reservation: MemoryReservation,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let length = 0;
  for (let bytes = await resource.read(); bytes; bytes = await resource.read()) {
    length += bytes.length;
    if (length > LARGEST_BYTES) throw tooLarge();
    reservation.reserve(bytes.length);
    pieces.push(bytes);
  }
  return pieces;
}
