import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { setEnvelopeCode } from '../../../platform/error/index.js';
import {
  Answers,
  AnswersOrFile,
  envelope,
  Input,
  NoEnvelope,
  OneOf,
} from '../../../platform/http/index.js';
import { textFor } from '../../../platform/message/index.js';
import { ApprovalRepository } from '../../../effect/index.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { ReportRepository } from '../../store/report.repository.js';
import { ModelSecrets, SecretMask } from '../../store/secret-mask.js';
import { filePageFields } from '../change/change.view.js';
import { UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { reportMarkdown } from './report.markdown.js';
import {
  peopleIn,
  RunReportView,
  RunUsageDetailView,
  toReport,
  toUsageView,
} from './report.view.js';

export class ReportQuery extends Input({
  ...filePageFields,
  format: OneOf(['json', 'markdown'], { optional: true, description: 'json when not given' }),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
export class ReportController {
  constructor(
    private readonly runs: RunService,
    private readonly reports: ReportRepository,
    private readonly approvals: ApprovalRepository,
    private readonly changes: FileChangeRepository,
    private readonly mask: SecretMask,
    private readonly secrets: ModelSecrets,
  ) {}

  /** Usage of the run: tokens, cost, turns, and the time of each call of the model. */
  @Get('usage')
  @RequirePermission('coding:harness:use')
  @Answers(RunUsageDetailView)
  async usage(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunUsageDetailView> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
    return toUsageView(run, await this.reports.modelCalls(run));
  }

  /** Report of the run: its requirement, actions, cost and approvals. As Markdown it is a file to download. */
  @Get('report')
  @NoEnvelope()
  @RequirePermission('coding:harness:use')
  @AnswersOrFile(RunReportView, 'text/markdown', 'The report; as Markdown an attachment')
  async get(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() { format, ...page }: ReportQuery,
    @Res() response: Response,
  ): Promise<void> {
    const { run, session } = await this.runs.ownRun(caller, sessionId, runId);
    const facts = {
      run,
      session,
      page,
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
    await this.secrets.learn(caller, run);
    // Secrets are masked before the texts are processed.
    sendReport(response, this.mask.applyIn(toReport({ ...facts, names })), format);
  }
}

/** Writes the report in the format that was asked for; Markdown as a file, which no browser shows as a page. */
function sendReport(response: Response, report: RunReportView, format: string | undefined): void {
  const answer = envelope(report);
  setEnvelopeCode(response, answer.code);
  response.status(200).set('Cache-Control', 'private, no-store');
  if (format !== 'markdown') {
    response.json({ ...answer, msg: textFor(response, answer.msg) });
    return;
  }
  response.attachment(`run-${report.runId}.md`);
  response.set({
    'Content-Type': 'text/markdown; charset=utf-8',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
  });
  response.send(reportMarkdown(report));
}
