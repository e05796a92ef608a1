import { Injectable } from '@nestjs/common';

export interface TenantParticipant {
  /** Gives a new tenant its first rows. Runs in the transaction that creates the tenant. */
  created?(tenantId: string): Promise<void>;
  /** Removes what foreign keys cannot, such as files. Runs in the transaction that deletes the tenant. */
  deleting?(tenantId: string): Promise<void>;
}

/** Who takes part when a tenant comes or goes: features register themselves, identity/ calls them. */
@Injectable()
export class TenantLifecycle {
  private readonly participants: TenantParticipant[] = [];

  join(participant: TenantParticipant): void {
    this.participants.push(participant);
  }

  async created(tenantId: string): Promise<void> {
    for (const participant of this.participants) await participant.created?.(tenantId);
  }

  async deleting(tenantId: string): Promise<void> {
    for (const participant of this.participants) await participant.deleting?.(tenantId);
  }
}
