import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { setEnvelopeCode } from '../../../platform/error/index.js';
import { Answers, envelope, NoEnvelope } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { ReportQuery } from './report.dto.js';
import { reportMarkdown } from './report.markdown.js';
import { ReportService } from './report.service.js';
import { RunReportView, RunUsageDetailView } from './report.view.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId')
export class ReportController {
  constructor(private readonly reports: ReportService) {}

  /** What the run has used up: tokens, cost, turns, and the time of each call of the model. */
  @Get('usage')
  @RequirePermission('coding:harness:use')
  @Answers(RunUsageDetailView)
  usage(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<RunUsageDetailView> {
    return this.reports.usage(caller, sessionId, runId);
  }

  /** What the run was asked, did and cost, and who allowed it; as Markdown it is a file to download. */
  @Get('report')
  @NoEnvelope()
  @RequirePermission('coding:harness:use')
  @Answers(RunReportView)
  @ApiProduces('application/json', 'text/markdown')
  async report(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Query() { format }: ReportQuery,
    @Res() response: Response,
  ): Promise<void> {
    sendReport(response, await this.reports.report(caller, sessionId, runId), format);
  }
}

/** Writes the report in the format that was asked for; Markdown as a file, which no browser shows as a page. */
export function sendReport(
  response: Response,
  report: RunReportView,
  format: string | undefined,
): void {
  const answer = envelope(report);
  setEnvelopeCode(response, answer.code);
  response.status(200).set('Cache-Control', 'private, no-store');
  if (format !== 'markdown') {
    response.json(answer);
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
