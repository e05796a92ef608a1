import { Body, Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { Answers, AnswersArray, AnswersStatus, IdPipe } from '../http/index.js';
import {
  HoldBody,
  HoldView,
  OwnRetentionBody,
  RetentionBody,
  RetentionView,
} from './retention.dto.js';
import { RetentionService } from './retention.service.js';

@ApiTags('retention')
@Controller('system/retention')
export class RetentionController {
  constructor(private readonly retention: RetentionService) {}

  /** How long records of each class are kept in the tenant. */
  @Get()
  @RequirePermission('system:retention:list')
  @Answers(RetentionView)
  rules(@CurrentCaller() caller: Caller): Promise<RetentionView> {
    return this.retention.rules(caller);
  }

  /** Replaces the rules of the tenant. What is due by them is removed within minutes and cannot be restored. */
  @Put()
  @RequirePermission('system:retention:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: RetentionBody): Promise<void> {
    return this.retention.update(caller, body);
  }

  /** The users under legal hold, the newest 1,000. */
  @Get('hold')
  @RequirePermission('system:retention:list')
  @AnswersArray(HoldView)
  holds(@CurrentCaller() caller: Caller): Promise<HoldView[]> {
    return this.retention.holds(caller);
  }

  /** Places a user under legal hold: nothing of theirs is removed or can be deleted, and no message changed. Again changes the reason. */
  @Put('hold/:userId')
  @RequirePermission('system:retention:hold')
  @AnswersStatus()
  hold(
    @CurrentCaller() caller: Caller,
    @Param('userId', IdPipe) userId: number,
    @Body() body: HoldBody,
  ): Promise<void> {
    return this.retention.hold(caller, userId, body);
  }

  /** Lifts a legal hold. What became due meanwhile is removed within minutes. */
  @Delete('hold/:userId')
  @RequirePermission('system:retention:hold')
  @AnswersStatus()
  lift(@CurrentCaller() caller: Caller, @Param('userId', IdPipe) userId: number): Promise<void> {
    return this.retention.lift(caller, userId);
  }
}

@ApiTags('retention')
@Controller('system/user/profile/retention')
export class OwnRetentionController {
  constructor(private readonly retention: RetentionService) {}

  /** How long the caller's own records are kept. Rules of the tenant that are shorter count. */
  @Get()
  @LoginOnly()
  @Answers(RetentionView)
  rules(@CurrentCaller() caller: Caller): Promise<RetentionView> {
    return this.retention.ownRules(caller);
  }

  /** Replaces the caller's own rules. */
  @Put()
  @LoginOnly()
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: OwnRetentionBody): Promise<void> {
    return this.retention.updateOwn(caller, body);
  }
}
