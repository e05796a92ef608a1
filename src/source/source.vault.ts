import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, TextSealer } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { inTenant } from '../platform/database/index.js';
import type { KnowledgeSource } from './source.entity.js';
import { SourceRepository } from './source.repository.js';

type Sealed = Pick<KnowledgeSource, 'id' | 'tenantId' | 'secret'>;

/**
 * Encrypts the tokens of connectors, bound to tenant and source. At the start, what the previous key had encrypted is encrypted with
 * the current one.
 */
@Injectable()
export class SourceVault implements OnApplicationBootstrap {
  private readonly logger = new Logger(SourceVault.name);
  private readonly sealer: TextSealer;

  constructor(
    private readonly sources: SourceRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.sealer = new TextSealer(config.encryptionKeys);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { previousPrefix } = this.sealer;
    if (previousPrefix === undefined) return;
    for (const source of await this.sources.sealedWith(previousPrefix)) {
      const token = this.open(source);
      const { tenantId, id, secret } = source;
      if (token === undefined || secret === null) {
        this.logger.warn({ msg: 'Failed to decrypt token of source', tenantId, id });
        continue;
      }
      const sealed = this.seal(source, token);
      await inTenant(tenantId, () => this.sources.replaceSecret(tenantId, id, secret, sealed));
    }
  }

  seal(source: Pick<Sealed, 'id' | 'tenantId'>, token: string): string {
    return this.sealer.seal(placeOf(source), token);
  }

  /** The token; undefined without one, or if it belongs to another record or key. */
  open(source: Sealed): string | undefined {
    return source.secret === null ? undefined : this.sealer.open(placeOf(source), source.secret);
  }
}

function placeOf({ tenantId, id }: Pick<Sealed, 'id' | 'tenantId'>): string {
  return `${tenantId}:knowledge_source:${id}`;
}
