import { Redis } from 'ioredis';
import type { Config } from '../config/index.js';

/** Time limit for the answer to one command. Redis needs less than a millisecond. */
const COMMAND_MS = 3_000;

/** The shared connection to REDIS_URL; undefined without it. */
export function connectRedis(config: Config): Redis | undefined {
  if (config.REDIS_URL === undefined) return undefined;
  return new Redis(config.REDIS_URL, {
    connectionName: 'plinth',
    keyPrefix: `${config.REDIS_PREFIX}:`,
    maxRetriesPerRequest: 1,
    connectTimeout: 5_000,
    commandTimeout: COMMAND_MS,
    disconnectTimeout: 200,
    // A peer that is gone without closing the connection is noticed within 20 seconds.
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(times * 50, 1_000),
  });
}
