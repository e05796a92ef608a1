import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import { InboxRepository } from '../../store/inbox.repository.js';
import type { WaitingRun } from '../../store/inbox.repository.js';
import {
  toEffectEntry,
  toPlanEntry,
  toProviderEntry,
  toQuestionEntry,
  toToolEntry,
} from './inbox.view.js';
import type { InboxEntryView } from './inbox.view.js';

/** Everything that waits for one user. */
@Injectable()
export class InboxService {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly inbox: InboxRepository,
  ) {}

  /** What waits in the caller's own runs, the longest waiting first; at most 500 entries of a kind. */
  async list({ tenantId, userId }: Caller): Promise<InboxEntryView[]> {
    const approvals = await this.approvals.pendingOfUser(tenantId, userId);
    const runs = await this.inbox.waitingRuns(tenantId, userId);
    const effects = await this.inbox.uncertainEffects(tenantId, userId);
    return [
      ...approvals.map(toToolEntry),
      ...runs.flatMap(entriesOf),
      ...effects.map(toEffectEntry),
    ].sort((one, other) => one.waitingSince - other.waitingSince);
  }
}

function entriesOf(run: WaitingRun): InboxEntryView[] {
  const { waitKind, plan, question } = run;
  if (waitKind === 'PLAN' && plan) return [toPlanEntry(run, plan)];
  if (waitKind === 'QUESTION' && question) return [toQuestionEntry(run, question)];
  return waitKind === 'PROVIDER' ? [toProviderEntry(run)] : [];
}
