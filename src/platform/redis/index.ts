export { RedisModule } from './redis.module.js';
export { SharedRedis } from './shared-redis.js';
