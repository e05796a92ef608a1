import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Database } from '../../platform/database/index.js';
import { insertionOf } from './columns.repository.js';
import { storableText } from './storable.js';
import { Grants } from '../protocol/approval.js';
import { newId, sha256 } from '../protocol/ids.js';
import { HarnessGrant } from './harness.entity.js';
import type { HarnessApproval } from './harness.entity.js';

/** The consents that hold for a session. */
@Injectable()
export class GrantRepository {
  constructor(private readonly database: Database) {}

  /** Grants what the approval names; what is granted already stays as it is. */
  async insert(approval: HarnessApproval, grantedBy: number): Promise<void> {
    const { tenantId, sessionId, id: approvalId } = approval;
    for (const { kind, subject } of approval.grants) {
      const { fields, values } = insertionOf({
        ...{ id: newId(), tenantId, sessionId, approvalId, grantedBy, kind },
        subjectHash: sha256(subject),
        subject: storableText(subject),
      });
      await this.database.query(
        `INSERT INTO harness_grant ${fields}
         ON CONFLICT (session_id, kind, subject_hash) WHERE revoked_at IS NULL DO NOTHING`,
        values,
      );
    }
  }

  /** The grants that hold, the oldest first. */
  async ofSession(tenantId: string, sessionId: string): Promise<HarnessGrant[]> {
    const where = { tenantId, sessionId, revokedAt: IsNull() };
    return this.database.repository(HarnessGrant).find({ where, order: { id: 'ASC' } });
  }

  /** What the session's grants allow now. Read before each decision, so that a revoked grant no longer counts. */
  async allowed({ tenantId, sessionId }: GrantKey): Promise<Grants> {
    return new Grants(await this.ofSession(tenantId, sessionId));
  }

  /** Takes a grant back; false when the session has none with this id that holds. */
  async revoke(session: GrantKey, grantId: string, revokedBy: number): Promise<boolean> {
    const { tenantId, sessionId } = session;
    const grants = this.database.repository(HarnessGrant);
    const holding = { tenantId, sessionId, id: grantId, revokedAt: IsNull() };
    const { affected } = await grants.update(holding, { revokedAt: () => 'now()', revokedBy });
    return affected === 1;
  }
}

/** Whose grants they are. */
export type GrantKey = Pick<HarnessGrant, 'tenantId' | 'sessionId'>;
