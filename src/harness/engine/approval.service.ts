import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { stepIdOf } from '../store/event.catalogue.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunWriter } from '../store/run.ledger.js';
import { Attempts } from './attempts.js';
import { RunEnding } from './run.ending.js';
import type { ApprovalAsk } from '../store/approval.ask.js';
import { ApprovalRepository } from '../store/approval.repository.js';
import type { ApprovalRow } from '../store/approval.repository.js';
import { availableDecisions } from '../protocol/approval.js';

/** Most runs of one sweep. */
const SWEEP = 100;

/** Requests approvals for tool calls and expires those that are not decided in time. */
@Injectable()
export class ApprovalService {
  private readonly attempts = new Attempts(new Logger(ApprovalService.name));

  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly ledger: RunLedger,
    private readonly ending: RunEnding,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Stores the asks as pending and adds their events. Parking the run, in the same transaction, is the caller's. */
  async request(writer: RunWriter, asks: readonly ApprovalAsk[]): Promise<ApprovalRow[]> {
    if (asks.length === 0) return [];
    const { run } = writer;
    const rows = await this.approvals.insert(run, asks, this.config.HARNESS_APPROVAL_HOURS);
    for (const row of rows) {
      const { id: approvalId, toolCallId, toolName, summary, argumentsSha256, argumentsJson } = row;
      writer.event(
        'approval.requested',
        {
          approvalId,
          toolName,
          summary,
          argumentsSha256,
          argumentsJson,
          state: 'PENDING',
          expectedRevision: row.revision,
          expiresAt: row.expiresAt.getTime(),
          available: availableDecisions(row.grantable),
          notes: row.notes,
        },
        { stepId: stepIdOf(run.iteration), toolCallId, approvalId },
      );
    }
    return rows;
  }

  /** Ends the runs with an approval that is past its time; one whose row is locked is left to the next sweep. */
  async expireDue(): Promise<void> {
    for (const { tenantId, runId } of await this.approvals.dueRuns(SWEEP)) {
      const expire = () =>
        inTenant(tenantId, () =>
          this.ledger.asOtherIfFree(tenantId, runId, (writer) => this.expire(writer)),
        );
      await this.attempts.try('Failed to expire approval', expire, runId);
    }
  }

  /** Expires what is due of the run and ends it as FAILED. Nothing happens when nothing is due. */
  async expire(writer: RunWriter): Promise<void> {
    const expired = await this.approvals.expire(writer.run);
    if (expired.length === 0) return;
    for (const { id: approvalId, toolCallId, revision } of expired) {
      const data = { approvalId, state: 'EXPIRED', revision } as const;
      writer.event('approval.expired', data, { toolCallId, approvalId });
    }
    if (writer.current.waitKind !== 'TOOL') return;
    await this.ending.end(writer, {
      status: 'FAILED',
      stopReason: 'APPROVAL_EXPIRED',
      error: {
        code: 'APPROVAL_EXPIRED',
        message: 'A tool call was not approved in time. Start a new run to continue.',
      },
    });
  }
}
