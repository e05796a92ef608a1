import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { Config } from '../../config/index.js';

/** Injection token of the shared Redis connection; undefined without REDIS_URL. */
export const REDIS = Symbol('Redis');

export function connectRedis(config: Config): Redis | undefined {
  if (config.REDIS_URL === undefined) return undefined;
  const logger = new Logger('Redis');
  const redis = new Redis(config.REDIS_URL, {
    connectionName: 'plinth',
    keyPrefix: `${config.REDIS_PREFIX}:`,
    maxRetriesPerRequest: 1,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
  });
  redis.on('error', (error) => logger.warn({ msg: 'Redis is not reachable', err: error }));
  return redis;
}
