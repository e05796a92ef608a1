import {
  Body,
  Controller,
  Get,
  Headers,
  Inject,
  Logger,
  Param,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import { ApiHeader, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ArrayMaxSize, IsArray } from 'class-validator';
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
  Nested,
  NoEnvelope,
  ruleText,
  sseFrame,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import { EventBus } from '../../../platform/event/index.js';
import { EventFeed } from './event.feed.js';
import { EventStream } from './event.stream.js';
import type { StreamedSource } from './event.stream.js';
import { EventView, toEventView } from './event.view.js';
import { UUID_TEXT, UuidPipe } from '../identifiers.js';
import { isEnded } from '../../protocol/run.state.js';
import { maySee, RunService } from '../run/run.service.js';
import { InboxRepository } from '../../store/inbox.repository.js';
import { RunNotFoundError, SessionNotFoundError } from '../../store/errors.js';
import { EventRepository } from '../../store/event.repository.js';
import type { HarnessRun } from '../../store/harness.entity.js';

const EVENTS_PER_PAGE = 1_000;

/** Maximum size of one page's data, so that large events do not fill the memory. */
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

/** Position from which a reader of the stream continues. */
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
  /** Number of open streams of a run per user. */
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
    const { run } = await this.runs.ownRun(caller, sid, rid);
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
    const { run } = await this.runs.ownRun(caller, sid, rid);
    const { place, leave } = this.admit(caller, rid);
    place.mayGoOn = async (now) => maySee(now, run);
    const stream = new EventStream(this.feed, place, response);
    try {
      stream.follow(streamedRun(run, syncComment), position);
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
    const perUser = streamsPerUser(this.config);
    const perRun = Math.ceil(perUser / 2);
    const key = `${caller.userId} ${runId}`;
    const ofRun = this.readers.get(key) ?? 0;
    if (ofRun >= perRun) throw new TooManyReadersError('run', perRun);
    const place = this.streams.reserve(caller, { perUser, kind: 'harness', endless: true });
    if (!place) throw new TooManyReadersError('user', perUser);
    this.readers.set(key, ofRun + 1);
    const leave = (): void => {
      const remaining = (this.readers.get(key) ?? 1) - 1;
      if (remaining > 0) this.readers.set(key, remaining);
      else this.readers.delete(key);
    };
    return { place, leave };
  }
}

/** Comment at the end of what was stored. */
function syncComment(last: number): string {
  return `: sync ${last}\n\n`;
}

function streamedRun(
  run: HarnessRun,
  synced: StreamedSource['synced'],
  over?: StreamedSource['over'],
): StreamedSource {
  const { tenantId, id, nextEventSequence, status } = run;
  const last = nextEventSequence - 1;
  return { source: { tenantId, id }, last, isOver: isEnded(status), synced, ...(over && { over }) };
}

function sequenceOf(lastEventId: string | undefined): number {
  const header = lastEventId?.trim() ?? '';
  if (header === '') return 0;
  if (!/^\d{1,15}$/.test(header)) throw new BadLastEventIdError();
  return Number(header);
}

/** Event streams of one user in this process, half of them for one run. */
function streamsPerUser({ CHAT_STREAMS_PER_USER: perUser }: Config): number {
  return Math.ceil(perUser / 2);
}

/** A place is free as soon as another stream is closed. */
const RETRY_AFTER_SECONDS = 5;

export class TooManyReadersError extends TooManyRequestsError {
  constructor(of: 'run' | 'user', limit: number) {
    const what = of === 'run' ? msg`this run` : msg`runs`;
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

/** Maximum number of runs that one stream follows: what the tabs of a browser show. */
export const MAX_FOLLOWED_RUNS = 20;

/** Interval at which a stream that no notification has reached counts again. */
const COUNT_MS = 10_000;

/** A run, and the position from which its reader continues. */
export class FollowedRunBody extends Input({
  sessionId: Text({ ...UUID_TEXT, description: 'Session of the run' }),
  runId: Text(UUID_TEXT),
  afterSequence: Whole({
    optional: true,
    min: 0,
    description: 'Sequence of the last event that one has',
  }),
}) {}

@StrictFields()
export class FollowRunsBody {
  @ApiProperty({
    type: [FollowedRunBody],
    description: `At most ${MAX_FOLLOWED_RUNS}; an empty list for what waits for a decision alone`,
  })
  @IsArray({ message: ruleText(msg`runs must be a list. Send an empty one to follow no run`) })
  @ArrayMaxSize(MAX_FOLLOWED_RUNS, {
    message: ruleText(msg`runs has more than ${MAX_FOLLOWED_RUNS} entries`),
  })
  @Nested(() => FollowedRunBody, { each: true, message: msg`each entry of runs must be an object` })
  runs: FollowedRunBody[];
}

@ApiTags('coding harness')
@Controller('coding/harness/events')
export class FollowController {
  private readonly logger = new Logger('HarnessEvents');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly runs: RunService,
    private readonly inbox: InboxRepository,
    private readonly repository: EventRepository,
    private readonly feed: EventFeed,
    private readonly bus: EventBus,
    private readonly streams: OpenStreams,
  ) {}

  /**
   * The events of several runs on one connection, those that are stored and those that come, and how much waits for a
   * decision of the caller. For clients that show several runs at once: browsers keep few connections to a server.
   */
  @Post('stream')
  @RequirePermission('coding:harness:use')
  @NoEnvelope()
  @AnswersRaw(
    'text/event-stream',
    'Frames with event and data: the events of the runs, run.synced, run.over and inbox.count',
  )
  async follow(
    @CurrentCaller() caller: Caller,
    @Body() { runs }: FollowRunsBody,
    @Res() response: Response,
  ): Promise<void> {
    const perUser = streamsPerUser(this.config);
    const place = this.streams.reserve(caller, { perUser, kind: 'harness', endless: true });
    if (!place) throw new TooManyReadersError('user', perUser);
    const { tenantId, userId } = caller;
    const stream = new EventStream(this.feed, place, response, () =>
      this.inbox.countWaiting(tenantId, userId),
    );
    const leaving = [
      this.bus.subscribe('harness.inbox', (one) => {
        if (one.tenantId === tenantId && one.userId === userId) stream.recount();
      }),
      this.bus.onResumed(stream.recount),
    ];
    const timer = setInterval(stream.recount, COUNT_MS).unref();
    // Runs of another tenant end the stream of a super administrator who has left it.
    const followedRuns: Pick<HarnessRun, 'tenantId' | 'userId'>[] = [{ tenantId, userId }];
    place.mayGoOn = async (now) => followedRuns.every((run) => maySee(now, run));
    try {
      for (const [at, requested] of runs.entries()) {
        const run = await this.ownRun(caller, requested, at);
        followedRuns.push(run);
        const { sessionId, id: runId } = run;
        const frame = (event: string) => (sequence: number) =>
          sseFrame(event, { sessionId, runId, sequence });
        stream.follow(
          streamedRun(run, frame('run.synced'), frame('run.over')),
          requested.afterSequence ?? 0,
        );
      }
      await stream.write((error) => {
        this.logger.warn({ msg: 'Failed to read events of followed runs', err: error });
      });
    } finally {
      clearInterval(timer);
      for (const leave of leaving) leave();
      stream.close();
    }
  }

  /**
   * The events of all runs of the caller as server-sent events, also of runs that begin later, until the reader leaves. The
   * id of each is its number among them. Without a position it begins with the next event.
   */
  @Get('stream')
  @RequirePermission('coding:harness:use')
  @NoEnvelope()
  @ApiHeader({ name: 'Last-Event-ID', required: false })
  @AnswersRaw('text/event-stream', 'Frames with id, event and data')
  async followAll(
    @CurrentCaller() caller: Caller,
    @Query() { afterSequence }: EventStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    const position = Math.max(afterSequence ?? 0, sequenceOf(lastEventId));
    const perUser = streamsPerUser(this.config);
    const place = this.streams.reserve(caller, { perUser, kind: 'harness', endless: true });
    if (!place) throw new TooManyReadersError('user', perUser);
    const { tenantId, userId } = caller;
    place.mayGoOn = async (now) => maySee(now, { tenantId, userId });
    const stream = new EventStream(this.feed, place, response);
    try {
      const source = { tenantId, ownerId: userId };
      const last = await this.repository.number(source);
      const isNew = afterSequence === undefined && !lastEventId?.trim();
      stream.follow({ source, last, isOver: false, synced: syncComment }, isNew ? last : position);
      await stream.write((error) => {
        this.logger.warn({ msg: 'Failed to read events of a user', userId, err: error });
      });
    } finally {
      stream.close();
    }
  }

  /** RunNotFoundError, which names the place in the list, for a run that is not the caller's. */
  private async ownRun(
    caller: Caller,
    { sessionId, runId }: FollowedRunBody,
    at: number,
  ): Promise<HarnessRun> {
    try {
      return (await this.runs.ownRun(caller, sessionId.toLowerCase(), runId.toLowerCase())).run;
    } catch (error) {
      const isGone = error instanceof RunNotFoundError || error instanceof SessionNotFoundError;
      throw isGone ? new RunNotFoundError({ field: `runs.${at}` }) : error;
    }
  }
}
