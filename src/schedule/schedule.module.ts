import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChatModule } from '../chat/index.js';
import { HarnessModule } from '../harness/index.js';
import { ScheduleController } from './schedule.controller.js';
import { Schedule, ScheduleFire } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { ScheduleRunner } from './schedule.runner.js';
import { ScheduleService } from './schedule.service.js';
import { ScheduledWork } from './scheduled-work.js';

/** Messages and runs at given times. */
@Module({
  imports: [TypeOrmModule.forFeature([Schedule, ScheduleFire]), ChatModule, HarnessModule],
  controllers: [ScheduleController],
  providers: [ScheduleRepository, ScheduledWork, ScheduleRunner, ScheduleService],
})
export class ScheduleModule {}
