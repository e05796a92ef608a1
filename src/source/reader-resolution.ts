import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { PeriodicRound } from '../platform/queue/index.js';
import { SourceRepository } from './source.repository.js';

const MINUTE_MS = 60_000;

/** Lets users and groups read what a source has named them for before they existed. */
@Injectable()
export class ReaderResolution extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly sources: SourceRepository,
  ) {
    super(config, 'Failed to resolve readers of sources', MINUTE_MS);
  }

  async round(ending: AbortSignal): Promise<void> {
    for (const tenantId of await this.sources.tenantsWithUnknownReaders()) {
      if (ending.aborted) return;
      await this.sources.resolveReaders(tenantId, ending);
    }
  }
}
