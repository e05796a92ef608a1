import { Injectable } from '@nestjs/common';
import { Database, TenantScoped } from '../../platform/database/index.js';
import { msg } from '../../platform/message/index.js';
import { SecondFactor } from './second-factor.entity.js';
import type { FactorKind } from './second-factor.entity.js';

/** What a sign-in must know of the second factors of a user. */
export interface FactorState {
  readonly kinds: readonly FactorKind[];
  /** Unused recovery codes. */
  readonly recoveryCodes: number;
  /** Whether a role of the user requires a second factor. */
  readonly isRequired: boolean;
}

const STATE = `
  SELECT ARRAY(SELECT DISTINCT f.kind::text FROM second_factor f
                WHERE f.tenant_id = $1 AND f.user_id = $2 ORDER BY 1) AS kinds,
         (SELECT count(*) FROM recovery_code c WHERE c.tenant_id = $1 AND c.user_id = $2) AS "recoveryCodes",
         EXISTS (SELECT 1 FROM user_role ur JOIN role r ON r.id = ur.role_id AND r.tenant_id = ur.tenant_id
                  WHERE ur.tenant_id = $1 AND ur.user_id = $2
                    AND r.status = '0' AND r.second_factor = 'required') AS "isRequired"`;

@Injectable()
export class SecondFactorRepository {
  readonly factors: TenantScoped<SecondFactor>;

  constructor(private readonly database: Database) {
    this.factors = new TenantScoped(database, SecondFactor, msg`The second factor`);
  }

  /** One statement, whether or not the user exists. */
  async state(tenantId: string, userId: number): Promise<FactorState> {
    const [row] = await this.database.prepared<FactorState>(STATE, [tenantId, userId]);
    return row ?? { kinds: [], recoveryCodes: 0, isRequired: false };
  }

  async of(tenantId: string, userId: number): Promise<SecondFactor[]> {
    return this.factors.find(tenantId, { userId }, { id: 'ASC' });
  }

  /** Records a use; false if this counter or a later one was used before. Authenticators without a counter always say 0. */
  async use(tenantId: string, id: number, counter: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE second_factor SET counter = $3, last_used_time = now()
        WHERE tenant_id = $1 AND id = $2 AND (counter < $3 OR (counter = 0 AND $3 = 0)) RETURNING id`,
      [tenantId, id, counter],
    );
    return rows.length > 0;
  }

  /** Uses a recovery code up; false if the user has none with the digest. */
  async useRecoveryCode(tenantId: string, userId: number, digest: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM recovery_code WHERE tenant_id = $1 AND user_id = $2 AND digest = $3 RETURNING digest',
      [tenantId, userId, digest],
    );
    return rows.length > 0;
  }

  async replaceRecoveryCodes(
    tenantId: string,
    userId: number,
    digests: readonly string[],
  ): Promise<void> {
    await this.database.query('DELETE FROM recovery_code WHERE tenant_id = $1 AND user_id = $2', [
      tenantId,
      userId,
    ]);
    await this.database.query(
      'INSERT INTO recovery_code (tenant_id, user_id, digest) SELECT $1, $2, unnest($3::text[])',
      [tenantId, userId, [...digests]],
    );
  }
}
