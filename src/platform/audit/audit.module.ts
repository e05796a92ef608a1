import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEntry } from './audit.entity.js';
import { AuditController } from './audit.controller.js';
import { ConsoleLogController } from './console-log.controller.js';
import { AuditNames } from './audit-names.repository.js';
import { AuditLog, AuditRepository } from './audit.repository.js';

/** Global, because every feature records its changes. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry])],
  controllers: [AuditController, ConsoleLogController],
  providers: [AuditLog, AuditNames, AuditRepository],
  exports: [AuditLog, AuditNames],
})
export class AuditModule {}
