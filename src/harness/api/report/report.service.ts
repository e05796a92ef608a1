import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { RunService } from '../run/run.service.js';
import { ModelSecrets } from '../../store/model-secrets.js';
import { SecretMask } from '../../store/secret-mask.js';
import { peopleIn, toReport } from './report.facts.js';
import { ReportRepository } from '../../store/report.repository.js';
import type { RunReportView } from './report.view.js';
import { toUsageView } from './usage.view.js';
import type { RunUsageDetailView } from './usage.view.js';

/** Tells people what a run did and what it took. */
@Injectable()
export class ReportService {
  constructor(
    private readonly runs: RunService,
    private readonly reports: ReportRepository,
    private readonly approvals: ApprovalRepository,
    private readonly changes: FileChangeRepository,
    private readonly mask: SecretMask,
    private readonly secrets: ModelSecrets,
  ) {}

  /** Tokens, cost, turns and time of the run, and of each call of the model. */
  async usage(caller: Caller, sessionId: string, runId: string): Promise<RunUsageDetailView> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    return toUsageView(run, await this.reports.modelCalls(run));
  }

  /** The run's report, of a run that goes on as far as it has come. */
  async report(caller: Caller, sessionId: string, runId: string): Promise<RunReportView> {
    const { run, session } = await this.runs.own(caller, sessionId, runId);
    const facts = {
      run,
      session,
      calls: await this.reports.calls(run),
      events: await this.reports.events(run),
      approvals: await this.approvals.ofRun(run),
      changes: await this.changes.ofRun(run.tenantId, run.id),
      skills: await this.reports.skills(run),
      answer: await this.reports.lastAnswer(run),
    };
    const people = peopleIn(facts);
    const { tenantId, homeTenantId } = run;
    const names = new Map([
      ...(await inTenant(homeTenantId, () => this.reports.names(homeTenantId, people))),
      ...(await this.reports.names(tenantId, people)),
    ]);
    await this.secrets.learn(caller, session);
    // Before anything is done to the texts.
    return this.mask.applyIn(toReport({ ...facts, names }));
  }
}
