import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers, NoEnvelope } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { sendReport } from './report.download.js';
import { ReportQuery } from './report.dto.js';
import { ReportService } from './report.service.js';
import { RunReportView } from './report.view.js';
import { RunUsageDetailView } from './usage.view.js';

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
