import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../platform/database/index.js';

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
  async batch(prefix: string, afterId: number, limit: number): Promise<SealedCredential[]> {
    return acrossTenants('rotation of credentials', () =>
      this.database.query<SealedCredential>(
        `SELECT id, tenant_id AS "tenantId", credential FROM model
        WHERE id > $1 AND starts_with(credential, $2) ORDER BY id LIMIT $3`,
        [afterId, prefix, limit],
      ),
    );
  }

  /** Writes each text unless its row holds another than was read; answers how many it wrote. */
  async replace(credentials: readonly RenewedCredential[]): Promise<number> {
    const written = await acrossTenants('rotation of credentials', () =>
      this.database.query(
        `UPDATE model SET credential = given.renewed
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS given (id, tenant_id, was, renewed)
        WHERE model.id = given.id AND model.tenant_id = given.tenant_id AND model.credential = given.was
        RETURNING model.id`,
        [
          credentials.map(({ id }) => id),
          credentials.map(({ tenantId }) => tenantId),
          credentials.map(({ credential }) => credential),
          credentials.map(({ renewed }) => renewed),
        ],
      ),
    );
    return written.length;
  }
}
