import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { SharedRedis } from '../../redis/index.js';
import { EventBus, events } from '../event-bus.js';
import type { EventData, EventName } from '../event-bus.js';

/** Events over Redis publish/subscribe, which needs a connection of its own for receiving. */
export class RedisEventBus extends EventBus {
  private readonly logger = new Logger(RedisEventBus.name);
  /** Redis knows no prefix for channels, so they carry the one of the keys. */
  private readonly prefix: string;
  private readonly unsubscribe: () => void;
  /** Runs listeners outside the request and the tenant of the publisher. */
  private readonly outside = AsyncLocalStorage.snapshot();

  constructor(
    private readonly redis: SharedRedis,
    private readonly receiver: Redis,
  ) {
    super();
    this.prefix = `${redis.keyPrefix}event:`;
    receiver.on('message', (channel, message) => this.receive(channel, message));
    this.unsubscribe = redis.onRecovered(() => this.outside(() => this.resumed()));
  }

  /**
   * Resolves when this process receives events, or when Redis turns out to be away. ioredis subscribes again after a
   * reconnection only where it has subscribed before, so each connection that is ready is told again.
   */
  async start(): Promise<void> {
    this.receiver.on('ready', () => void this.subscribeAll());
    await this.subscribeAll();
  }

  private async subscribeAll(): Promise<void> {
    try {
      await this.receiver.subscribe(...Object.keys(events).map((name) => this.prefix + name));
    } catch (error) {
      this.redis.failed(error);
    }
  }

  override async publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void> {
    await this.redis.run(
      async (redis) => {
        await redis.publish(this.prefix + name, JSON.stringify(data));
      },
      // This process at least hears it; the others find the change in the database.
      () => void this.outside(() => this.emitter.emit(name, data)),
    );
  }

  override async close(): Promise<void> {
    this.unsubscribe();
    await super.close();
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
