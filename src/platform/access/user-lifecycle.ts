import { Injectable } from '@nestjs/common';

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
