import { Controller, Get, Headers, Param, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AnswersArray, AnswersRaw, NoEnvelope } from '../../../platform/http/index.js';
import { UuidPipe } from '../session/uuid.pipe.js';
import { EventListQuery, EventStreamQuery } from './event.dto.js';
import { EventService } from './event.service.js';
import { EventView } from './event.view.js';

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/events')
export class EventController {
  constructor(private readonly events: EventService) {}

  /** The stored events of a run, in their order. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(EventView)
  list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sid: string,
    @Param('runId', UuidPipe) rid: string,
    @Query() query: EventListQuery,
  ): Promise<EventView[]> {
    return this.events.list(caller, sid, rid, query);
  }

  /**
   * The events of a run as server-sent events, those that are stored and those that come, until the run is over. The id of
   * each is its sequence; a reader that comes back says where it was, and the larger of the two ways to say so counts.
   */
  @Get('stream')
  @RequirePermission('coding:harness:use')
  @NoEnvelope()
  @ApiHeader({ name: 'Last-Event-ID', required: false })
  @AnswersRaw('text/event-stream', 'Frames with id, event and data; 204 when there is nothing more')
  async stream(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sid: string,
    @Param('runId', UuidPipe) rid: string,
    @Query() query: EventStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    await this.events.stream(caller, { sid, rid, ...query, lastEventId }, response);
  }
}
