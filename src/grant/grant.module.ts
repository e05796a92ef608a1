import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessController } from './access.controller.js';
import { AccessService } from './access.service.js';
import { AccessGrant } from './grant.entity.js';
import { GrantRepository } from './grant.repository.js';
import { Grants } from './grants.js';

/** Who may reach knowledge bases, agents, models and tool servers. */
@Module({
  imports: [TypeOrmModule.forFeature([AccessGrant])],
  controllers: [AccessController],
  providers: [AccessService, GrantRepository, Grants],
  exports: [Grants],
})
export class GrantModule {}
