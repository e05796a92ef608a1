import { Injectable } from '@nestjs/common';

export interface TenantParticipant {
  /** Creates the first rows of a new tenant. Runs in the transaction that creates the tenant. */
  created?(tenantId: string): Promise<void>;
  /** Deletes what foreign keys cannot, such as files. Runs in the transaction that deletes the tenant. */
  deleting?(tenantId: string): Promise<void>;
}

/** Features that act when a tenant is created or deleted register here; identity/ calls them. */
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

export interface UserParticipant {
  /** Deletes what foreign keys cannot, such as files, in every tenant. Runs in the transaction that deletes the users. */
  deleting(userIds: readonly number[]): Promise<void>;
}

/** Features that act when users are deleted register here; identity/ calls them. */
@Injectable()
export class UserLifecycle {
  private readonly participants: UserParticipant[] = [];

  join(participant: UserParticipant): void {
    this.participants.push(participant);
  }

  async deleting(userIds: readonly number[]): Promise<void> {
    for (const participant of this.participants) await participant.deleting(userIds);
  }
}
