import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { ContentMemoryError } from './content.errors.js';

/** The room that all requests of this process share for resources whose length nobody has said. */
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

  /** Room for one resource, which its owner gives back in the end. */
  open(): ContentRoom {
    let own = 0;
    return {
      take: (bytes) => {
        if (this.held + bytes > this.limit) throw new ContentMemoryError();
        this.held += bytes;
        own += bytes;
      },
      give: (bytes) => {
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

export interface ContentRoom {
  /** Throws ContentMemoryError when there is no room left. */
  readonly take: (bytes: number) => void;
  readonly give: (bytes: number) => void;
  /** Gives back what was not given yet. */
  readonly close: () => void;
}
