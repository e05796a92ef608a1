import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../access/index.js';
import { NoEnvelope } from '../http/index.js';
import { Metrics } from './metrics.js';

@ApiTags('operation')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  /** Counters and timings for Prometheus. */
  @Get()
  @Public()
  @NoEnvelope()
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Metrics in the text format of Prometheus' })
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
  async read(@Res({ passthrough: true }) response: Response): Promise<string> {
    response.type(this.metrics.contentType);
    return this.metrics.text();
  }
}
