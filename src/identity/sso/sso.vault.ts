import { Injectable } from '@nestjs/common';
import { SealedColumns } from '../../platform/database/index.js';
import type { SealedColumn } from '../../platform/database/index.js';

/** The table that a sealed text is bound to; it cannot be decrypted for another one. */
type SsoSecretTable = 'sso_provider' | 'sso_identity' | 'sso_session';

/** Encrypts client secrets and tokens of providers, bound to tenant and record. */
@Injectable()
export class SsoVault {
  private readonly columns: Readonly<Record<SsoSecretTable, SealedColumn>>;

  constructor(sealed: SealedColumns) {
    this.columns = {
      sso_provider: sealed.add('sso_provider', 'client_secret'),
      sso_identity: sealed.add('sso_identity', 'refresh_token'),
      sso_session: sealed.add('sso_session', 'id_token', { key: 'login_session_id', type: 'uuid' }),
    };
  }

  seal(tenantId: string, table: SsoSecretTable, id: number | string, secret: string): string {
    return this.columns[table].seal(tenantId, id, secret);
  }

  /** Decrypts a text; undefined for one that is bound to another record or key. */
  open(
    tenantId: string,
    table: SsoSecretTable,
    id: number | string,
    sealed: string,
  ): string | undefined {
    return this.columns[table].open(tenantId, id, sealed);
  }
}
