import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { ContentMemoryError } from './content.errors.js';

/** Limits the memory that all requests of this process hold for resources of unknown length. */
@Injectable()
export class ContentMemory {
  private readonly limit: number;
  private held = 0;

  constructor(@Inject(CONFIG) config: Config, metrics: Metrics) {
    this.limit = config.MEDIA_CONTENT_MEMORY_MB * 1024 * 1024;
    metrics.gauge(
      'plinth_media_content_bytes',
      'Bytes of media that are held until their length is known or sent',
      async () => this.held,
    );
  }

  /** A reservation for one resource, which its owner closes. */
  open(): MemoryReservation {
    let own = 0;
    return {
      reserve: (bytes) => {
        if (this.held + bytes > this.limit) throw new ContentMemoryError();
        this.held += bytes;
        own += bytes;
      },
      release: (bytes) => {
        this.held -= bytes;
        own -= bytes;
      },
      close: () => {
        this.held -= own;
        own = 0;
      },
    };
  }
}

export interface MemoryReservation {
  /** Throws ContentMemoryError beyond the limit of the process. */
  readonly reserve: (bytes: number) => void;
  readonly release: (bytes: number) => void;
  /** Releases the rest. */
  readonly close: () => void;
}
