import { Controller, Get, Header, Res } from '@nestjs/common';
import {
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../access/index.js';
import { NoEnvelope } from '../http/index.js';
import { HealthService, LiveView, ReadyView } from './health.service.js';
import { Metrics } from './metrics.js';

@ApiTags('operation')
@Controller()
export class GreetingController {
  /** Names the service to a person who opens the address in a browser. */
  @Get()
  @Public()
  @NoEnvelope()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @ApiOperation({ summary: 'A greeting as plain text' })
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
  greet(): string {
    return 'Welcome to Plinth, the backend for AI applications. The API is documented at /docs.\n';
  }
}

/** Routes for probes, which read the HTTP status and need no envelope. */
@ApiTags('operation')
@Controller('health')
@Public()
@NoEnvelope()
export class HealthController {
  constructor(private readonly health: HealthService) {}

  /** Answers as long as the process can answer at all. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Whether the process runs' })
  @ApiOkResponse({ type: LiveView })
  live(): LiveView {
    return { status: 'up' };
  }

  /** HTTP 503 when something that it cannot work without does not answer, and while stopping. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Whether the process can take requests' })
  @ApiOkResponse({ type: ReadyView })
  @ApiServiceUnavailableResponse({ type: ReadyView })
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadyView> {
    const view = await this.health.ready();
    response.status(view.status === 'up' || view.status === 'degraded' ? 200 : 503);
    return view;
  }
}

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
