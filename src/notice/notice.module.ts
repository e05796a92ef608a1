import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NoticeTargetController } from './notice.controller.js';
import { NoticeDelivery, NoticeTarget } from './notice.entity.js';
import { NoticeRepository } from './notice.repository.js';
import { NoticeService } from './notice.service.js';
import { NoticeWorker } from './notice.worker.js';

/** Who is told of reached thresholds, and the delivery of what the usage ledger has written to the outbox. */
@Module({
  imports: [TypeOrmModule.forFeature([NoticeTarget, NoticeDelivery])],
  controllers: [NoticeTargetController],
  providers: [NoticeRepository, NoticeService, NoticeWorker],
})
export class NoticeModule {}
