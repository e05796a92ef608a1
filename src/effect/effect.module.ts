import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApprovalRepository } from './approval.repository.js';
import { Approval, ConsentGrant, Effect } from './effect.entity.js';
import { EffectRepository } from './effect.repository.js';

/** The ledger of tool calls, and the consents to them: of runs of the harness and of turns of chats. */
@Module({
  imports: [TypeOrmModule.forFeature([Effect, Approval, ConsentGrant])],
  providers: [EffectRepository, ApprovalRepository],
  exports: [EffectRepository, ApprovalRepository],
})
export class EffectModule {}
