export { OneTimeStore } from './one-time.store.js';
export { RedisModule } from './redis.module.js';
export { SharedRedis } from './shared-redis.js';
