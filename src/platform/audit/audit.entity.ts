import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  GeneratedId,
  Jsonb,
  TenantId,
  Timestamp,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../database/index.js';

/** Who did what to which record, and from where. The database refuses to change or delete a row. */
@Entity({ name: 'audit_entry' })
export class AuditEntry {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) actorId: number | null;
  @Varchar(64, nullable) actorName: string | null;
  @Varchar(40) action: string;
  @Varchar(40) targetType: string;
  @Varchar(64, nullable) targetId: string | null;
  @Jsonb() detail: Record<string, unknown>;
  @Varchar(64, nullable) ip: string | null;
  @Varchar(64, nullable) requestId: string | null;
  @CreateTime() createTime: Date;
}

/** Both ends of the hash chain of a tenant, and the position of the export. */
@Entity({ name: 'audit_chain' })
export class AuditChainEnd {
  @TenantId(primary) tenantId: string;
  @Bigint() lastNumber: number;
  @Char(64) lastDigest: string;
  /** The last entry that retention has removed: the chain begins after it. */
  @Bigint() anchorNumber: number;
  @Char(64) anchorDigest: string;
  /** Every entry up to this id has a link. */
  @Bigint() floorId: number;
  @Bigint() exportedNumber: number;
  /** The lease of the process that exports. */
  @Timestamp(nullable) leaseUntil: Date | null;
}

/** The place of an entry in the chain: the digest of the link before it, the entry and this number. */
@Entity({ name: 'audit_link' })
export class AuditLink {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) number: number;
  @Bigint() entryId: number;
  @Char(64) digest: string;
  /** Digest of name and address, with the salt; both go when the user is erased. */
  @Char(64) personalDigest: string;
  @Uuid(nullable) salt: string | null;
}
