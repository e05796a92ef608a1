import { Logger } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { isOutage } from '../../platform/database/index.js';
import { withLimit } from '../../platform/dependency/index.js';
import { sseFrame } from '../../platform/http/index.js';
import type { FrameRecorder } from '../../platform/stream/index.js';
import type { AnswerClient } from '../answer.writer.js';

/** A client that leaves this much unread is disconnected; it reads on where it was. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Limit of storing the remaining frames at the end of a turn. */
const SEAL_MS = 5_000;

/** The stored frame after which a turn wrote no other: the end of the stream has its number. */
export const SEAL = '';

/** Frames of the end: usage and done, or both forms of an error. */
export const ENDING_FRAMES = 2;

/** Where a turn that goes on without its client is recorded. */
export interface TurnRecording {
  readonly recorder: FrameRecorder;
  /** Wakes the readers. */
  readonly notify: () => void;
}

/** The frames in a text. */
export function framesIn(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n\n)/);
}

export function numbered(number: number, frame: string): string {
  return `id: ${number}\n${frame}`;
}

/**
 * The output of a turn that goes on without its client. Frames are numbered, stored in pieces, and sent at once while the
 * client reads them. The frames of the end are not stored: readers get them from the stored answer.
 */
export class DetachedOutput {
  private readonly logger = new Logger('Chat');
  private recording: TurnRecording | undefined;
  /** Whether the client was told of the turn. */
  private isNamed = false;
  /** Number of the next frame of the end. */
  private endNumber: number | undefined;

  constructor(private readonly client: AnswerClient) {}

  get response(): ServerResponse | undefined {
    return this.client.response;
  }

  /** Calls the listener only for a client that leaves before it knows of the turn. */
  onClose(listener: () => void): void {
    this.client.onClose(() => {
      if (!this.isNamed) listener();
    });
  }

  /** Stores the first frames, then sends the last of them, which names the turn. The client has the `earlier` ones. */
  async begin(recording: TurnRecording, turnId: string, earlier: string): Promise<void> {
    this.recording = recording;
    for (const frame of framesIn(earlier)) this.add(frame);
    const first = this.add(sseFrame('turn', { event: 'turn', turnId }));
    await recording.recorder.flush();
    this.isNamed = !this.client.closed;
    this.client.write(first);
  }

  /** Takes whole frames. False means that too much is not stored: await `drained` before producing more. */
  write(frames: string): boolean {
    const lines = framesIn(frames).map((frame) => this.add(frame));
    const { response } = this;
    if (response && response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else this.client.write(lines.join(''));
    return this.recording?.recorder.isFull !== true;
  }

  async drained(): Promise<void> {
    await this.recording?.recorder.flush();
  }

  /** Stores the frames so far, to which only those of the end are added. Never rejects; may be tried again. */
  async seal(): Promise<void> {
    if (!this.recording) return;
    const { recorder } = this.recording;
    if (this.endNumber === undefined) {
      this.endNumber = recorder.nextNumber;
      recorder.add(SEAL);
    }
    try {
      await withLimit(SEAL_MS, recorder.close(), () => {
        throw new Error(`The database did not answer within ${SEAL_MS} ms.`);
      });
    } catch (error) {
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to store a stream', err: error });
    }
  }

  /** The answer is stored: readers get the end of it. */
  async ended(): Promise<void> {
    await this.seal();
    this.recording?.notify();
  }

  private add(frame: string): string {
    if (this.endNumber !== undefined) return numbered(this.endNumber++, frame);
    const recorder = this.recording?.recorder;
    if (!recorder) return frame;
    const line = numbered(recorder.nextNumber, frame);
    recorder.add(line);
    return line;
  }
}
