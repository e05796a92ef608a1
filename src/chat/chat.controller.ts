import {
  Body,
  Catch,
  Controller,
  Get,
  Headers,
  Param,
  Post,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Direct, LoginOnly, NOTHING_INLINE } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { InvalidInputError, setEnvelopeCode } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import {
  Answers,
  AnswersRaw,
  IdPipe,
  NoEnvelope,
  SseWriter,
  WhileConnected,
} from '../platform/http/index.js';
import { SendBody, StopView } from './chat.dto.js';
import { errorFrames } from './chat.frames.js';
import { ChatTurn } from './chat.turn.js';
import { ChatStreams } from './chat.streams.js';
import {
  DecisionsBody,
  RecordedCallView,
  ResolveCallBody,
  UuidPipe,
} from './decision/decision.dto.js';
import { TurnDecisions } from './decision/turn.decisions.js';
import { TurnStreams } from './detach/turn-streams.js';
import { ChatFiles } from './file/chat-files.js';
import { MessageFileView, toFileView } from './message.dto.js';
import { SessionService } from './session.service.js';

/** Ping interval that the stream never reaches. */
const PING_DISABLED_MS = 60_000;

/** The number of the last frame that a reader has; before the first one without it. */
function frameNumber(lastEventId: string | undefined): number {
  if (lastEventId === undefined) return -1;
  if (!/^\d{1,9}$/.test(lastEventId)) {
    throw new InvalidInputError(msg`Last-Event-ID must be the id of the last frame.`);
  }
  return Number(lastEventId);
}

/** Answers invalid fields of a chat message as a stream, because clients of this route read nothing else. */
@Catch(InvalidInputError)
export class ChatErrorFilter implements ExceptionFilter {
  catch(error: InvalidInputError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const { code, data } = error;
    setEnvelopeCode(response, code);
    const writer = new SseWriter(response, PING_DISABLED_MS);
    writer.start();
    writer.write(errorFrames(error.userMessage, { code, data }));
    writer.end();
  }
}

@ApiTags('chat')
@Controller('chat')
export class ChatController {
  constructor(
    private readonly turn: ChatTurn,
    private readonly sessions: SessionService,
    private readonly files: ChatFiles,
    private readonly streams: ChatStreams,
    private readonly decisions: TurnDecisions,
    private readonly turnStreams: TurnStreams,
  ) {}

  /** Sends a message and streams the answer as server-sent events; docs/API.md lists the frames. */
  @Post('send')
  @Direct()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @NoEnvelope()
  @UseFilters(ChatErrorFilter)
  @ApiHeader({ name: 'Idempotency-Key', required: false })
  @AnswersRaw('text/event-stream', 'Frames: content, usage, done; on failure error and [ERROR]')
  async send(
    @CurrentCaller() caller: Caller,
    @Body() body: SendBody,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    const readsFrames = body.inline === false || body.detach === true;
    const reader = readsFrames ? { ...caller, inline: NOTHING_INLINE } : caller;
    await this.turn.send(reader, body, idempotencyKey?.slice(0, 200), response);
  }

  /**
   * Reads an own upload before it is sent with a question: `failed` with the reason where its type, size or content make the
   * question go on without it, such as a damaged PDF. Takes one of the user's places for answers while it runs.
   */
  @Post('files/:ossId/check')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @Answers(MessageFileView)
  async checkFile(
    @CurrentCaller() caller: Caller,
    @Param('ossId', IdPipe) ossId: number,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MessageFileView> {
    const file = await this.streams.inPlace(caller, () =>
      this.files.inspect(caller, ossId, disconnected),
    );
    return toFileView(file);
  }

  /**
   * Decides about all tool calls of an answer that wait, and streams the continuation of the answer in the frames of /chat/send.
   * The answer must be the last one of its chat; the decisions have 24 hours.
   */
  @Post('turns/:turnId/decisions')
  @LoginOnly()
  @NoEnvelope()
  @UseFilters(ChatErrorFilter)
  @AnswersRaw('text/event-stream', 'Frames of /chat/send; on failure error and [ERROR]')
  async decide(
    @CurrentCaller() caller: Caller,
    @Param('turnId', UuidPipe) turnId: string,
    @Body() body: DecisionsBody,
    @Res() response: Response,
  ): Promise<void> {
    const reader = { ...caller, inline: NOTHING_INLINE };
    await this.turn.resume(reader, turnId, body, response);
  }

  /**
   * Reads a turn that was sent with detach, from the frame after Last-Event-ID, without it from the first, until it has
   * ended. Kept for 24 hours after its last frame.
   */
  @Get('turns/:turnId/stream')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @NoEnvelope()
  @ApiHeader({ name: 'Last-Event-ID', required: false })
  @AnswersRaw('text/event-stream', 'Frames of /chat/send with their ids')
  async readOn(
    @CurrentCaller() caller: Caller,
    @Param('turnId', UuidPipe) turnId: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    await this.turnStreams.answer(caller, turnId, frameNumber(lastEventId), response);
  }

  /** Records what the user has found out about a tool call whose outcome is unknown. */
  @Post('turns/:turnId/effects/:callId/resolution')
  @LoginOnly()
  @Answers(RecordedCallView)
  async resolve(
    @CurrentCaller() caller: Caller,
    @Param('turnId', UuidPipe) turnId: string,
    @Param('callId', UuidPipe) callId: string,
    @Body() body: ResolveCallBody,
  ): Promise<RecordedCallView> {
    const effect = await this.decisions.resolve(caller, { turnId, callId }, body);
    return RecordedCallView.of({ ...effect, callId: effect.toolCallId });
  }

  /** Stops the running answer of a session, from any connection. */
  @Post('stop/:sessionId')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @Answers(StopView)
  async stop(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', IdPipe) sessionId: number,
  ): Promise<StopView> {
    return { stopped: await this.sessions.stop(caller, sessionId) };
  }
}
