import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { FaultyOutput } from '../http/faulty-output.js';
import type { JsonObject } from '../http/json.js';
import type { ChatProtocol, WireEvent } from './chat-protocol.js';

/** Parts of a stream that depend on the protocol, besides its events. */
type StreamForm = Pick<
  ChatProtocol,
  'streamType' | 'emptyEvent' | 'malformedEvent' | 'keepAlive' | 'errorEvent'
>;

/** Streams events at the pace and with the faults of a behaviour; returns when the response is over. */
export class StreamWriter {
  private readonly output: FaultyOutput;
  private chunks = 0;

  constructor(
    private readonly exchange: Exchange,
    private readonly protocol: StreamForm,
    private readonly behaviour: Behaviour,
    private readonly error: JsonObject,
  ) {
    this.output = new FaultyOutput(exchange, behaviour);
  }

  async stream(events: readonly WireEvent[]): Promise<void> {
    await this.open();
    if (this.behaviour.emptyChoices) await this.output.write(this.protocol.emptyEvent);
    for (const event of events) {
      if (this.exchange.closed || (await this.isBroken(event))) return;
      await this.send(event);
    }
    await this.finish();
  }

  private async open(): Promise<void> {
    const { firstMs = 0, commentsMs, headers } = this.behaviour;
    // Comments can only be sent after the head.
    if (commentsMs === undefined) await this.exchange.pause(firstMs);
    this.exchange.sendHead(200, {
      'content-type': this.protocol.streamType,
      'cache-control': 'no-cache',
      ...headers,
    });
    if (commentsMs !== undefined) await this.wait(firstMs);
  }

  private async send(event: WireEvent): Promise<void> {
    if (event.kind === 'end-mark' && this.behaviour.noDone) return;
    if (event.kind === 'chunk') {
      if (this.chunks > 0) await this.wait(this.behaviour.delayMs ?? 0);
      this.chunks += 1;
    }
    await this.output.write(event.text);
  }

  /** Strikes when it is time for a fault; true when the stream is over by that. */
  private async isBroken(event: WireEvent): Promise<boolean> {
    if (event.kind !== 'chunk' && event.kind !== 'finish') return false;
    const { stall, reset, cut, error, malformed } = this.behaviour;
    if (malformed === this.chunks) await this.output.write(this.protocol.malformedEvent);
    if (error === this.chunks) await this.output.write(this.protocol.errorEvent(this.error));
    if (error === this.chunks || cut === this.chunks) {
      await this.finish();
      return true;
    }
    if (reset !== this.chunks && stall !== this.chunks) return false;
    await this.output.flush();
    if (reset === this.chunks) await this.exchange.reset();
    else await this.wait(Infinity);
    return true;
  }

  private async wait(milliseconds: number): Promise<void> {
    const { commentsMs } = this.behaviour;
    let remainingMs = milliseconds;
    while (commentsMs !== undefined && remainingMs > commentsMs && !this.exchange.closed) {
      await this.exchange.pause(commentsMs);
      await this.output.write(this.protocol.keepAlive);
      remainingMs -= commentsMs;
    }
    await this.exchange.pause(remainingMs);
  }

  private async finish(): Promise<void> {
    await this.output.flush();
    this.exchange.end();
  }
}
