import { Global, Inject, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { CONFIG } from '../config/index.js';
import { EventBus } from './event-bus.js';
import { InProcessEventBus } from './in-process/in-process.event-bus.js';
import { RateLimiter } from './rate-limiter.js';
import { RedisEventBus } from './redis/redis.event-bus.js';
import { connectRedis, REDIS } from './redis/redis.provider.js';

@Global()
@Module({
  providers: [
    { provide: REDIS, inject: [CONFIG], useFactory: connectRedis },
    {
      provide: EventBus,
      inject: [REDIS],
      useFactory: async (redis: Redis | undefined) => {
        if (!redis) return new InProcessEventBus();
        const bus = new RedisEventBus(redis);
        await bus.start();
        return bus;
      },
    },
    RateLimiter,
  ],
  exports: [EventBus, RateLimiter, REDIS],
})
export class EventModule implements OnApplicationShutdown {
  constructor(
    private readonly bus: EventBus,
    @Inject(REDIS) private readonly redis: Redis | undefined,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.bus.close();
    this.redis?.disconnect();
  }
}
