import { Body, Controller, Inject, Logger, Post, Res } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray } from 'class-validator';
import type { Response } from 'express';
import { CurrentCaller, OpenStreams, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { EventBus } from '../../../platform/event/index.js';
import {
  AnswersRaw,
  Input,
  Nested,
  NoEnvelope,
  sseFrame,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import { RunNotFoundError, SessionNotFoundError } from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { UUID_TEXT } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { TooManyReadersError } from './event.controller.js';
import { EventFeed } from './event.feed.js';
import { EventStream } from './event.stream.js';

/** Runs that one stream follows: what the tabs of a browser show. */
export const MOST_FOLLOWED = 20;

/** A stream that no notification has reached counts again after this time. */
const COUNT_MS = 10_000;

/** A run, and where its reader goes on. */
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
    description: `At most ${MOST_FOLLOWED}; an empty list for what waits for a decision alone`,
  })
  @IsArray({ message: msg`runs must be a list. Send an empty one to follow no run` })
  @ArrayMaxSize(MOST_FOLLOWED, { message: msg`runs has more than ${MOST_FOLLOWED} entries` })
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
    private readonly approvals: ApprovalRepository,
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
    const { HARNESS_STREAMS_PER_USER: perUser } = this.config;
    const place = this.streams.reserve(caller, { perUser, kind: 'harness', endless: true });
    if (!place) throw new TooManyReadersError('user', perUser);
    const { tenantId, userId } = caller;
    const placeOf = ({ sessionId, id: runId }: HarnessRun, sequence: number): object => {
      return { sessionId, runId, sequence };
    };
    const stream = new EventStream(this.feed, place, response, {
      synced: (run, last) => sseFrame('run.synced', placeOf(run, last)),
      over: (run, last) => sseFrame('run.over', placeOf(run, last)),
      countInbox: () => this.approvals.countWaiting(tenantId, userId),
    });
    const leaving = [
      this.bus.subscribe('harness.inbox', (one) => {
        if (one.tenantId === tenantId && one.userId === userId) stream.recount();
      }),
      this.bus.onResumed(stream.recount),
    ];
    const timer = setInterval(stream.recount, COUNT_MS).unref();
    try {
      for (const [at, asked] of runs.entries()) {
        stream.follow(await this.own(caller, asked, at), asked.afterSequence ?? 0);
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

  /** RunNotFoundError, which names the place in the list, for a run that is not the caller's. */
  private async own(
    caller: Caller,
    { sessionId, runId }: FollowedRunBody,
    at: number,
  ): Promise<HarnessRun> {
    try {
      return (await this.runs.own(caller, sessionId.toLowerCase(), runId.toLowerCase())).run;
    } catch (error) {
      const isGone = error instanceof RunNotFoundError || error instanceof SessionNotFoundError;
      throw isGone ? new RunNotFoundError({ field: `runs.${at}` }) : error;
    }
  }
}
