import { Global, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Dependencies, DependencyModule } from '../dependency/index.js';
import { connectRedis } from './redis.connection.js';
import { SharedRedis } from './shared-redis.js';

@Global()
@Module({
  imports: [DependencyModule],
  providers: [
    {
      provide: SharedRedis,
      inject: [CONFIG, Dependencies],
      useFactory: (config: Config, dependencies: Dependencies) =>
        new SharedRedis(connectRedis(config), dependencies.of('queue')),
    },
  ],
  exports: [SharedRedis],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(private readonly redis: SharedRedis) {}

  onApplicationShutdown(): void {
    this.redis.close();
  }
}
