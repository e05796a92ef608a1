import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallRecord } from './call.entity.js';
import { LedgerRepository } from './ledger.repository.js';
import { LimitController } from './limit.controller.js';
import { UsageCounter, UsageLimit, UsageReservation, UsageThreshold } from './limit.entity.js';
import { LimitRepository } from './limit.repository.js';
import { LimitService } from './limit.service.js';
import { ModelPrice } from './price.entity.js';
import { ReservationRepository } from './reservation.repository.js';
import { UsageController } from './usage.controller.js';
import { UsageLedger } from './usage.ledger.js';
import { UsageLimiter } from './usage.limiter.js';
import { UsageRepository } from './usage.repository.js';
import { ReservationRetention, UsageRetention } from './usage.retention.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([
      CallRecord,
      ModelPrice,
      UsageLimit,
      UsageCounter,
      UsageReservation,
      UsageThreshold,
    ]),
  ],
  controllers: [UsageController, LimitController],
  providers: [
    LedgerRepository,
    UsageLedger,
    UsageRetention,
    UsageRepository,
    LimitRepository,
    LimitService,
    ReservationRepository,
    ReservationRetention,
    UsageLimiter,
  ],
  exports: [UsageLedger, UsageLimiter, LimitRepository],
})
export class UsageModule {}
