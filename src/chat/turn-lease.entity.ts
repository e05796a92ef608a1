import { Entity } from 'typeorm';
import {
  Bigint,
  nullable,
  primary,
  TenantId,
  Timestamp,
  Varchar,
} from '../platform/database/index.js';

/** The lease of a running turn without a session, by the id of its question. A turn in a session has it there. */
@Entity({ name: 'chat_turn_lease' })
export class TurnLease {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) questionId: number;
  @Timestamp() lease: Date;
  /** The process that answers the turn. */
  @Varchar(200, nullable) process: string | null;
}
