import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../platform/database/index.js';

/** The tables with credentials of models. */
export const CREDENTIAL_TABLES = ['model', 'model_key'] as const;
export type CredentialTable = (typeof CREDENTIAL_TABLES)[number];

const NEXT: Readonly<Record<CredentialTable, string>> = {
  model: `SELECT id, tenant_id AS "tenantId", credential FROM model
    WHERE id > $1 AND starts_with(credential, $2) ORDER BY id LIMIT $3`,
  model_key: `SELECT id, tenant_id AS "tenantId", credential FROM model_key
    WHERE id > $1 AND starts_with(credential, $2) ORDER BY id LIMIT $3`,
};

const REPLACE: Readonly<Record<CredentialTable, string>> = {
  model: `UPDATE model SET credential = renewal.renewed
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS renewal (id, tenant_id, was, renewed)
    WHERE model.id = renewal.id AND model.tenant_id = renewal.tenant_id AND model.credential = renewal.was
    RETURNING model.id`,
  model_key: `UPDATE model_key SET credential = renewal.renewed
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS renewal (id, tenant_id, was, renewed)
    WHERE model_key.id = renewal.id AND model_key.tenant_id = renewal.tenant_id AND model_key.credential = renewal.was
    RETURNING model_key.id`,
};

export interface SealedCredential {
  readonly id: number;
  readonly tenantId: string;
  readonly credential: string;
}

export interface RenewedCredential extends SealedCredential {
  readonly renewed: string;
}

/** Sealed credentials of all tenants, for the change of the encryption key; each row carries its tenant. */
@Injectable()
export class CredentialRepository {
  constructor(private readonly database: Database) {}

  /** The next rows whose text begins with the prefix, by id. */
  async batch(
    table: CredentialTable,
    prefix: string,
    { afterId, limit }: { readonly afterId: number; readonly limit: number },
  ): Promise<SealedCredential[]> {
    return acrossTenants('rotation of credentials', () =>
      this.database.query<SealedCredential>(NEXT[table], [afterId, prefix, limit]),
    );
  }

  /** Writes each text unless its row has changed since it was read; returns how many it wrote. */
  async replace(
    table: CredentialTable,
    credentials: readonly RenewedCredential[],
  ): Promise<number> {
    const written = await acrossTenants('rotation of credentials', () =>
      this.database.query(REPLACE[table], [
        credentials.map(({ id }) => id),
        credentials.map(({ tenantId }) => tenantId),
        credentials.map(({ credential }) => credential),
        credentials.map(({ renewed }) => renewed),
      ]),
    );
    return written.length;
  }
}
