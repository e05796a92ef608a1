import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Jsonb,
  TenantId,
  Varchar,
  nullable,
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
