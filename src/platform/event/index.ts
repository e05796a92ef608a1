export { EventBus } from './event-bus.js';
export type { EventData, EventName } from './event-bus.js';
export { EventModule } from './event.module.js';
export { RateLimiter } from './rate-limiter.js';
export type { RateLimit } from './rate-limiter.js';
