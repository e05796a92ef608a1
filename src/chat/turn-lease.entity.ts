import { Entity } from 'typeorm';
import { Bigint, primary, TenantId, Timestamp } from '../platform/database/index.js';

/** The lease of a running turn without a session, by the id of its question. A turn in a session has it there. */
@Entity({ name: 'chat_turn_lease' })
export class TurnLease {
  @Bigint(primary) questionId: number;
  @TenantId() tenantId: string;
  @Timestamp() lease: Date;
}
