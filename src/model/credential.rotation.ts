import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CREDENTIAL_TABLES, CredentialRepository } from './credential.repository.js';
import type {
  CredentialTable,
  RenewedCredential,
  SealedCredential,
} from './credential.repository.js';
import { CredentialVault, modelKeyPlace, modelPlace } from './model.repository.js';
import { UnreadableCredentialError } from './model.errors.js';

const BATCH_ROWS = 200;

/**
 * Re-encrypts at startup, with the current key, what the previous key had encrypted. Any number of processes may do it
 * at once: a row is written only while it still holds what was read.
 */
@Injectable()
export class CredentialRotation implements OnApplicationBootstrap {
  private readonly logger = new Logger(CredentialRotation.name);

  constructor(
    private readonly credentials: CredentialRepository,
    private readonly vault: CredentialVault,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { previousPrefix } = this.vault;
    if (previousPrefix === undefined) return;
    let renewed = 0;
    for (const table of CREDENTIAL_TABLES) renewed += await this.renewAll(table, previousPrefix);
    if (renewed > 0) this.logger.log({ msg: 'API keys encrypted with the current key', renewed });
  }

  private async renewAll(table: CredentialTable, prefix: string): Promise<number> {
    let renewed = 0;
    let afterId = 0;
    for (;;) {
      const rows = await this.credentials.batch(table, prefix, { afterId, limit: BATCH_ROWS });
      const readable = rows.flatMap((row) => this.renewed(table, row));
      renewed += await this.credentials.replace(table, readable);
      afterId = rows.at(-1)?.id ?? afterId;
      if (rows.length < BATCH_ROWS) return renewed;
    }
  }

  /** The row with its credential re-encrypted; nothing for one that cannot be decrypted, which fails at its next use. */
  private renewed(table: CredentialTable, row: SealedCredential): RenewedCredential[] {
    const placeOf = table === 'model' ? modelPlace : modelKeyPlace;
    const place = placeOf(row.tenantId, row.id);
    try {
      return [{ ...row, renewed: this.vault.seal(place, this.vault.open(place, row.credential)) }];
    } catch (error) {
      if (!(error instanceof UnreadableCredentialError)) throw error;
      const { tenantId, id } = row;
      this.logger.warn({ msg: 'Failed to decrypt API key', tenantId, [table]: id });
      return [];
    }
  }
}
