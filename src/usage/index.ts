export { LimitReachedError } from './limit.errors.js';
export { LimitRepository } from './limit.repository.js';
export type { SetLimit } from './limit.repository.js';
export {
  ContextTiers,
  ContextTierView,
  priceFields,
  priceViews,
  PriceVersionView,
  ServiceTierFactors,
} from './price.dto.js';
export type { ContextTierBody, ServiceTierBody } from './price.dto.js';
export { AMOUNTS, ModelPrice, PRICE_FIELDS, Prices } from './price.entity.js';
export type { LimitLeft, WorstCase } from './reservation.repository.js';
export type { AuxiliaryKind, Feature, MediaUnits, ModelUser, UsageEntry } from './usage.entry.js';
export { UsageLedger } from './usage.ledger.js';
export { UsageLimiter } from './usage.limiter.js';
export type { LimitedCall, NearestLimits } from './usage.limiter.js';
export { UsageModule } from './usage.module.js';
