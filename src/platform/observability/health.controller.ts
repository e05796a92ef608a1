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
import { HealthService } from './health.service.js';
import { LiveView, ReadyView } from './health.view.js';

/** For probes, which read the HTTP status: no envelope here. */
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

  /** HTTP 503 when something it depends on does not answer, and while stopping. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Whether the process can take requests' })
  @ApiOkResponse({ type: ReadyView })
  @ApiServiceUnavailableResponse({ type: ReadyView })
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadyView> {
    const view = await this.health.ready();
    response.status(view.status === 'up' ? 200 : 503);
    return view;
  }
}
