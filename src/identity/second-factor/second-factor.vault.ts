import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, TextSealer } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { SecondFactorRepository } from './second-factor.repository.js';
import type { SealedFactor } from './second-factor.repository.js';

const BATCH_ROWS = 200;

/**
 * Encrypts the secrets of authenticator apps, bound to tenant and user. At the start, what the previous key had encrypted
 * is encrypted with the current one.
 */
@Injectable()
export class SecondFactorVault implements OnApplicationBootstrap {
  private readonly logger = new Logger(SecondFactorVault.name);
  private readonly sealer: TextSealer;

  constructor(
    private readonly rows: SecondFactorRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.sealer = new TextSealer(config.encryptionKeys);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { previousPrefix: prefix } = this.sealer;
    if (prefix === undefined) return;
    for (let lastId = 0; ;) {
      const rows = await this.rows.sealed(prefix, lastId, BATCH_ROWS);
      for (const row of rows) await this.renew(row);
      lastId = rows.at(-1)?.id ?? lastId;
      if (rows.length < BATCH_ROWS) return;
    }
  }

  seal(tenantId: string, userId: number, secret: string): string {
    return this.sealer.seal(`${tenantId}:second_factor:${userId}`, secret);
  }

  /** Decrypts a secret; undefined for one that is bound to another user or key. */
  open(tenantId: string, userId: number, sealed: string): string | undefined {
    return this.sealer.open(`${tenantId}:second_factor:${userId}`, sealed);
  }

  private async renew(row: SealedFactor): Promise<void> {
    const { tenantId, userId, id, secret } = row;
    const plain = this.open(tenantId, userId, secret);
    if (plain === undefined) {
      this.logger.warn({ msg: 'Failed to decrypt secret of a second factor', tenantId, id });
      return;
    }
    await inTenant(tenantId, () =>
      this.rows.replaceSecret(row, this.seal(tenantId, userId, plain)),
    );
  }
}
