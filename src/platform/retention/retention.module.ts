import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OwnRetentionController, RetentionController } from './retention.controller.js';
import { LegalHold, RetentionRule, RetentionSweepLease } from './retention.entity.js';
import { RetentionRepository } from './retention.repository.js';
import { RetentionService } from './retention.service.js';
import { RetentionClasses, RetentionSweep } from './retention.sweep.js';

/** Global, because features with records that have a retention register themselves. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([LegalHold, RetentionRule, RetentionSweepLease])],
  controllers: [RetentionController, OwnRetentionController],
  providers: [RetentionClasses, RetentionRepository, RetentionService, RetentionSweep],
  exports: [RetentionClasses, RetentionService],
})
export class RetentionModule {}
