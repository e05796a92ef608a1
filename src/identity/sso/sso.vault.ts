import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, TextSealer } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { SsoRepository } from './sso.repository.js';
import type { SealedSecret } from './sso.repository.js';

/** The table that a sealed text is bound to; it cannot be decrypted for another one. */
export type SsoSecretTable = 'sso_provider' | 'sso_identity' | 'sso_session';

const BATCH_ROWS = 200;

/**
 * Encrypts client secrets and tokens of providers, bound to tenant and record. At the start, what the previous key had
 * encrypted is encrypted with the current one; an id token is not, because it lives no longer than a sign-in.
 */
@Injectable()
export class SsoVault implements OnApplicationBootstrap {
  private readonly logger = new Logger(SsoVault.name);
  private readonly sealer: TextSealer;

  constructor(
    private readonly rows: SsoRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.sealer = new TextSealer(config.encryptionKeys);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { previousPrefix: prefix } = this.sealer;
    if (prefix === undefined) return;
    await this.renewAll('sso_provider', (after) =>
      this.rows.sealedSecrets(prefix, after, BATCH_ROWS),
    );
    await this.renewAll('sso_identity', (after) =>
      this.rows.sealedTokens(prefix, after, BATCH_ROWS),
    );
  }

  seal(tenantId: string, table: SsoSecretTable, id: number | string, secret: string): string {
    return this.sealer.seal(`${tenantId}:${table}:${id}`, secret);
  }

  /** Decrypts a text; undefined for one that is bound to another record or key. */
  open(
    tenantId: string,
    table: SsoSecretTable,
    id: number | string,
    sealed: string,
  ): string | undefined {
    return this.sealer.open(`${tenantId}:${table}:${id}`, sealed);
  }

  private async renewAll(
    table: 'sso_provider' | 'sso_identity',
    batch: (afterId: number) => Promise<SealedSecret[]>,
  ): Promise<void> {
    for (let lastId = 0; ;) {
      const rows = await batch(lastId);
      for (const row of rows) await this.renew(table, row);
      lastId = rows.at(-1)?.id ?? lastId;
      if (rows.length < BATCH_ROWS) return;
    }
  }

  private async renew(
    table: 'sso_provider' | 'sso_identity',
    { tenantId, id, secret: before }: SealedSecret,
  ): Promise<void> {
    const secret = this.open(tenantId, table, id, before);
    if (secret === undefined) {
      this.logger.warn({
        msg: 'Failed to decrypt secret of single sign-on',
        tenantId,
        place: table,
        id,
      });
      return;
    }
    const secrets = { before, after: this.seal(tenantId, table, id, secret) };
    await inTenant(tenantId, () =>
      table === 'sso_provider'
        ? this.rows.replaceSecret(tenantId, id, secrets)
        : this.rows.replaceToken(tenantId, id, secrets),
    );
  }
}
