import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { storableText } from './storable.js';
import { Grants } from '../protocol/approval.js';
import { newId, sha256 } from '../protocol/ids.js';
import type { HarnessApproval, HarnessGrant } from './harness.entity.js';

const COLUMNS = `id, tenant_id AS "tenantId", session_id AS "sessionId", kind, subject_hash AS "subjectHash", subject,
  approval_id AS "approvalId", granted_by AS "grantedBy", create_time AS "createTime", revoked_at AS "revokedAt",
  revoked_by AS "revokedBy"`;

/** The consents that hold for a session. */
@Injectable()
export class GrantRepository {
  constructor(private readonly database: Database) {}

  /** Grants what the approval names; what is granted already stays as it is. */
  async insert(approval: HarnessApproval, grantedBy: number): Promise<void> {
    for (const { kind, subject } of approval.grants) {
      await this.database.query(
        `INSERT INTO harness_grant (id, tenant_id, session_id, kind, subject_hash, subject, approval_id, granted_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (session_id, kind, subject_hash) WHERE revoked_at IS NULL DO NOTHING`,
        [
          newId(),
          approval.tenantId,
          approval.sessionId,
          kind,
          sha256(subject),
          storableText(subject),
          approval.id,
          grantedBy,
        ],
      );
    }
  }

  /** The grants that hold, the oldest first. */
  async ofSession(tenantId: string, sessionId: string): Promise<HarnessGrant[]> {
    return this.database.query<HarnessGrant>(
      `SELECT ${COLUMNS} FROM harness_grant
        WHERE tenant_id = $1 AND session_id = $2 AND revoked_at IS NULL ORDER BY id`,
      [tenantId, sessionId],
    );
  }

  /** What the session's grants allow now. Read before each decision, so that a revoked grant no longer counts. */
  async allowed({ tenantId, sessionId }: GrantKey): Promise<Grants> {
    return new Grants(await this.ofSession(tenantId, sessionId));
  }

  /** Takes a grant back; false when the session has none with this id that holds. */
  async revoke(session: GrantKey, grantId: string, revokedBy: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_grant SET revoked_at = now(), revoked_by = $4
        WHERE tenant_id = $1 AND session_id = $2 AND id = $3 AND revoked_at IS NULL RETURNING id`,
      [session.tenantId, session.sessionId, grantId, revokedBy],
    );
    return rows.length > 0;
  }
}

/** Whose grants they are. */
export type GrantKey = Pick<HarnessGrant, 'tenantId' | 'sessionId'>;
