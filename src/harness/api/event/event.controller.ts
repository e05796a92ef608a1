import { Controller, Get, Headers, Inject, Logger, Param, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, OpenStreams, RequirePermission } from '../../../platform/access/index.js';
import type { Caller, StreamPlace } from '../../../platform/access/index.js';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import {
  InvalidInputError,
  setEnvelopeCode,
  TooManyRequestsError,
} from '../../../platform/error/index.js';
import {
  AnswersArray,
  AnswersRaw,
  Input,
  NoEnvelope,
  Whole,
} from '../../../platform/http/index.js';
import { msg, phrase } from '../../../platform/message/index.js';
import { EventRepository } from '../../store/event.repository.js';
import { UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { EventFeed } from './event.feed.js';
import { EventStream } from './event.stream.js';
import { EventView, toEventView } from './event.view.js';

const EVENTS_PER_PAGE = 1_000;

/** Data of one page at most, so that large events do not fill the memory. */
const PAGE_BYTES = 16 * 1024 * 1024;

const NOTHING_NEW = 204;

/** A page of a run's events. */
export class EventListQuery extends Input({
  afterSequence: Whole({
    optional: true,
    min: 0,
    description: 'Sequence of the last event that one has',
  }),
  limit: Whole({
    optional: true,
    min: 1,
    max: 10_000,
    description: `Events at most, ${EVENTS_PER_PAGE} when absent; a page of large ones may end earlier`,
  }),
}) {}

/** Where a reader of the stream goes on. */
export class EventStreamQuery extends Input({
  afterSequence: Whole({
    optional: true,
    min: 0,
    description: 'As Last-Event-ID; the larger one counts',
  }),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/events')
export class EventController {
  private readonly logger = new Logger('HarnessEvents');
  /** How many streams a user has of a run. */
  private readonly readers = new Map<string, number>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly runs: RunService,
    private readonly repository: EventRepository,
    private readonly feed: EventFeed,
    private readonly streams: OpenStreams,
  ) {}

  /** The stored events of a run, in their order. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(EventView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sid: string,
    @Param('runId', UuidPipe) rid: string,
    @Query() { afterSequence: after = 0, limit = EVENTS_PER_PAGE }: EventListQuery,
  ): Promise<EventView[]> {
    const { run } = await this.runs.own(caller, sid, rid);
    const { events } = await this.repository.page(run, { after, limit, bytes: PAGE_BYTES });
    return events.map(toEventView);
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
    @Query() { afterSequence = 0 }: EventStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    const position = Math.max(afterSequence, sequenceOf(lastEventId));
    const { run } = await this.runs.own(caller, sid, rid);
    const { place, leave } = this.admit(caller, rid);
    const stream = new EventStream(this.feed, place, response, {
      synced: (_, last) => `: sync ${last}\n\n`,
    });
    try {
      stream.follow(run, position);
      if (!(await stream.hasEvents())) {
        setEnvelopeCode(response, NOTHING_NEW);
        response.status(NOTHING_NEW).end();
        return;
      }
      await stream.write((error) => {
        this.logger.warn({ msg: 'Failed to read events of a run', runId: rid, err: error });
      });
    } finally {
      stream.close();
      leave();
    }
  }

  /** Reserves the place of a reader, and one of those of the run, which `leave` releases. */
  private admit(caller: Caller, runId: string): { place: StreamPlace; leave: () => void } {
    const { HARNESS_STREAMS_PER_RUN: perRun, HARNESS_STREAMS_PER_USER: perUser } = this.config;
    const key = `${caller.userId} ${runId}`;
    const ofRun = this.readers.get(key) ?? 0;
    if (ofRun >= perRun) throw new TooManyReadersError('run', perRun);
    const place = this.streams.reserve(caller, { perUser, kind: 'harness', endless: true });
    if (!place) throw new TooManyReadersError('user', perUser);
    this.readers.set(key, ofRun + 1);
    const leave = (): void => {
      const left = (this.readers.get(key) ?? 1) - 1;
      if (left > 0) this.readers.set(key, left);
      else this.readers.delete(key);
    };
    return { place, leave };
  }
}

function sequenceOf(lastEventId: string | undefined): number {
  const given = lastEventId?.trim() ?? '';
  if (given === '') return 0;
  if (!/^\d{1,15}$/.test(given)) throw new BadLastEventIdError();
  return Number(given);
}

/** A place is free as soon as another stream is closed. */
const RETRY_AFTER_SECONDS = 5;

export class TooManyReadersError extends TooManyRequestsError {
  constructor(of: 'run' | 'user', limit: number) {
    const what = of === 'run' ? phrase`this run` : phrase`runs`;
    super(
      msg`You have ${limit} event streams of ${what} open, which is the limit. Close one and try again.`,
      { data: { errorCode: 'TOO_MANY_STREAMS' }, retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}

export class BadLastEventIdError extends InvalidInputError {
  constructor() {
    super(
      msg`Last-Event-ID is not the number of an event. Send the id of the last event that you have, or leave it out.`,
    );
  }
}
