import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { EventBus, events } from '../event-bus.js';
import type { EventData, EventName } from '../event-bus.js';

/** Events over Redis publish/subscribe, which needs a connection of its own for receiving. */
export class RedisEventBus extends EventBus {
  private readonly logger = new Logger(RedisEventBus.name);
  private readonly receiver: Redis;
  /** Redis knows no prefix for channels, so they carry the one of the keys. */
  private readonly prefix: string;

  constructor(private readonly sender: Redis) {
    super();
    this.prefix = `${sender.options.keyPrefix ?? ''}event:`;
    this.receiver = sender.duplicate();
    this.receiver.on('error', (error) =>
      this.logger.warn({ msg: 'Redis is not reachable', err: error }),
    );
    this.receiver.on('message', (channel, message) => this.receive(channel, message));
  }

  async start(): Promise<void> {
    await this.receiver.subscribe(...Object.keys(events).map((name) => this.prefix + name));
  }

  override async publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void> {
    try {
      await this.sender.publish(this.prefix + name, JSON.stringify(data));
    } catch (error) {
      // This process at least hears it; the others find the change in the database.
      this.logger.warn({ msg: 'An event did not reach Redis', event: name, err: error });
      this.emitter.emit(name, data);
    }
  }

  override async close(): Promise<void> {
    await super.close();
    this.receiver.disconnect();
  }

  private receive(channel: string, message: string): void {
    const name = channel.slice(this.prefix.length);
    if (!(name in events)) return;
    try {
      this.emitter.emit(name, events[name as EventName].parse(JSON.parse(message)));
    } catch (error) {
      this.logger.warn({ msg: 'An event could not be read', event: name, err: error });
    }
  }
}
