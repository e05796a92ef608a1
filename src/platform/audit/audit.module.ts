import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditChain } from './audit.chain.js';
import { AuditChainRepository } from './audit-chain.repository.js';
import { AuditChainEnd, AuditEntry, AuditLink } from './audit.entity.js';
import { AuditExport } from './audit.export.js';
import { AuditController } from './audit.controller.js';
import { ConsoleLogController } from './console-log.controller.js';
import { AuditNames } from './audit-names.repository.js';
import { AuditLog, AuditRepository } from './audit.repository.js';

/** Global, because every feature records its changes. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditChainEnd, AuditEntry, AuditLink])],
  controllers: [AuditController, ConsoleLogController],
  providers: [AuditChain, AuditChainRepository, AuditExport, AuditLog, AuditNames, AuditRepository],
  exports: [AuditChain, AuditLog, AuditNames],
})
export class AuditModule {}
