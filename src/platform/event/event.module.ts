import { Global, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { RedisModule, SharedRedis } from '../redis/index.js';
import { EventBus, InProcessEventBus } from './event-bus.js';
import { RateLimiter } from './rate-limiter.js';
import { RedisEventBus } from './redis/redis.event-bus.js';

@Global()
@Module({
  imports: [RedisModule],
  providers: [
    {
      provide: EventBus,
      inject: [SharedRedis],
      useFactory: async (redis: SharedRedis) => {
        const receiver = redis.openReceiver();
        if (!receiver) return new InProcessEventBus();
        const bus = new RedisEventBus(redis, receiver);
        await bus.start();
        return bus;
      },
    },
    RateLimiter,
  ],
  exports: [EventBus, RateLimiter],
})
export class EventModule implements OnApplicationShutdown {
  constructor(private readonly bus: EventBus) {}

  async onApplicationShutdown(): Promise<void> {
    await this.bus.close();
  }
}
