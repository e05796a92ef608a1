import { Injectable, Logger } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Caller, StreamPlace } from '../../platform/access/index.js';
import { isOutage } from '../../platform/database/index.js';
import { DomainError, setEnvelopeCode } from '../../platform/error/index.js';
import { SseWriter } from '../../platform/http/index.js';
import type { FrameOutput } from '../answer.writer.js';
import { StoredStreams } from '../../platform/stream/index.js';
import type { FramesRead, StreamEnding } from '../../platform/stream/index.js';
import { TurnStreamLostError } from '../chat.errors.js';
import { endFrames, errorFrames } from '../chat.frames.js';
import { CHAT_PING, ChatStreams } from '../chat.streams.js';
import { TurnRepository } from '../turn.repository.js';
import type { StoredAnswer } from '../turn.repository.js';
import { ENDING_FRAMES, framesIn, numbered, SEAL } from './detached-output.js';
import type { DetachedOutput } from './detached-output.js';

/** A detached turn, and a message that its frames are deleted with. */
interface DetachedTurn {
  readonly id: string;
  readonly caller: Pick<Caller, 'tenantId' | 'userId'>;
  readonly messageId: number;
  /** The frames of what the turn had done before it waited for its user. */
  readonly earlier: string;
}

/** The streams of detached turns: stored while a turn is answered, and read by any process until a day after its last frame. */
@Injectable()
export class TurnStreams {
  private readonly logger = new Logger('Chat');

  constructor(
    private readonly stored: StoredStreams,
    private readonly streams: ChatStreams,
    private readonly turns: TurnRepository,
  ) {}

  /** Records what the turn writes. A turn that has waited goes on after its stored frames. */
  async begin(output: DetachedOutput, turn: DetachedTurn): Promise<void> {
    const { id, caller, messageId, earlier } = turn;
    const key = { tenantId: caller.tenantId, userId: caller.userId, id };
    const last = earlier === '' ? undefined : await this.stored.last(key);
    const next = last ? last.sequence + ENDING_FRAMES : 0;
    const recorder = this.stored.recorder(key, { messageId }, next);
    const notify = (): void => this.stored.notify(key);
    await output.begin({ recorder, notify }, id, last ? '' : earlier);
  }

  /** Answers the frames after the number as an event stream, until the turn has ended. Throws TurnStreamLostError. */
  async answer(
    caller: Caller,
    turnId: string,
    after: number,
    response: ServerResponse,
  ): Promise<void> {
    const place = this.streams.reserveReader(caller);
    try {
      if (!(await this.isKept(caller, turnId))) throw new TurnStreamLostError();
      const client = new SseWriter(response, CHAT_PING.intervalMs);
      if (client.closed) return;
      setEnvelopeCode(response, 200);
      client.start();
      await this.follow(place, turnId, after, client);
      client.end();
    } finally {
      place.release();
    }
  }

  async isKept({ tenantId, userId }: Caller, turnId: string): Promise<boolean> {
    return (await this.stored.last({ tenantId, userId, id: turnId })) !== undefined;
  }

  /** Writes the frames after the number until the turn has ended, the client leaves or the place ends. Never rejects. */
  async follow(
    place: StreamPlace,
    turnId: string,
    after: number,
    client: FrameOutput,
  ): Promise<void> {
    const { tenantId, userId } = place.caller;
    const ending = new AbortController();
    const { signal } = ending;
    place.onEnd(() => ending.abort());
    client.onClose(() => ending.abort());
    const ended = async (): Promise<StreamEnding | undefined> => {
      const answer = await this.turns.streamedAnswer({ tenantId, userId }, turnId);
      if (answer === undefined) throw new TurnStreamLostError();
      return answer === 'running' ? undefined : (last) => endOf(answer, last, after);
    };
    try {
      const key = { tenantId, userId, id: turnId };
      for await (const { frames } of this.stored.after(key, after, { ended, signal })) {
        if (frames !== '' && !client.write(frames)) await client.drained(signal);
      }
    } catch (error) {
      // A client whose connection ends without `done` comes back.
      if (error instanceof DomainError) client.write(errorFrames(error.userMessage, error));
      else if (!isOutage(error)) this.logger.warn({ msg: 'Failed to read a stream', err: error });
    }
  }
}

/** The frames of the end that the reader does not have. */
function endOf(answer: StoredAnswer, last: Parameters<StreamEnding>[0], after: number): FramesRead {
  const isWhole = last?.frame === SEAL;
  // A process that ended has sent frames that it has not stored, whose numbers the reader may have.
  const first = isWhole ? last.sequence : Math.max(last?.sequence ?? -1, after) + 1;
  const lost = new TurnStreamLostError();
  const frames =
    isWhole || answer.state === 'failed' ? endFrames(answer) : errorFrames(lost.userMessage, lost);
  const missing = framesIn(frames)
    .map((frame, index) => ({ frame, number: first + index }))
    .filter(({ number }) => number > after);
  return {
    frames: missing.map(({ frame, number }) => numbered(number, frame)).join(''),
    last: first + ENDING_FRAMES - 1,
  };
}
