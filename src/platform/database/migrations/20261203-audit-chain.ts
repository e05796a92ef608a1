import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The hash chain over the entries of the audit log. It is beside them, because entries are never changed, and has no foreign key
 * to them, so that a removed entry leaves its link.
 */
export class AuditChain2026120300003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_chain (
        tenant_id varchar(20) PRIMARY KEY REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        last_number bigint NOT NULL DEFAULT 0,
        last_digest char(64) NOT NULL,
        anchor_number bigint NOT NULL DEFAULT 0,
        anchor_digest char(64) NOT NULL,
        floor_id bigint NOT NULL DEFAULT 0,
        exported_number bigint NOT NULL DEFAULT 0,
        lease_until timestamptz
      );
      COMMENT ON COLUMN audit_chain.anchor_number IS 'The last entry that retention has removed: the chain begins after it';
      COMMENT ON COLUMN audit_chain.floor_id IS 'Every entry up to this id has a link';
      COMMENT ON COLUMN audit_chain.exported_number IS 'The last entry that the receiver of AUDIT_EXPORT has accepted';
      COMMENT ON COLUMN audit_chain.lease_until IS 'Of the process that exports';

      CREATE TABLE audit_link (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        number bigint NOT NULL,
        entry_id bigint NOT NULL,
        digest char(64) NOT NULL,
        personal_digest char(64) NOT NULL,
        salt uuid,
        PRIMARY KEY (tenant_id, number)
      );
      CREATE UNIQUE INDEX audit_link_entry ON audit_link (tenant_id, entry_id);
      COMMENT ON COLUMN audit_link.salt IS 'Of personal_digest; null once the erasure of a user has removed name and address';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_link, audit_chain;');
  }
}
