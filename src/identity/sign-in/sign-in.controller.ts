import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersPage, AnswersStatus } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { SignInListQuery, SignInView } from './sign-in.dto.js';
import { SignInService } from './sign-in.service.js';

@ApiTags('sign-ins')
@Controller('monitor/online')
export class SignInController {
  constructor(private readonly signIns: SignInService) {}

  /** The sign-ins of the caller. */
  @Get()
  @LoginOnly()
  @AnswersPage(SignInView)
  own(@CurrentCaller() caller: Caller): Promise<Page<SignInView>> {
    return this.signIns.ownSignIns(caller);
  }

  /** All sign-ins of the tenant. */
  @Get('list')
  @RequirePermission('monitor:online:list')
  @AnswersPage(SignInView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: SignInListQuery,
  ): Promise<Page<SignInView>> {
    return this.signIns.list(caller, query);
  }

  /** Ends a sign-in of the caller. */
  @Delete('myself/:tokenId')
  @LoginOnly()
  @AnswersStatus()
  endOwn(@CurrentCaller() caller: Caller, @Param('tokenId') tokenId: string): Promise<void> {
    return this.signIns.endOwn(caller, tokenId);
  }

  /** Ends the sign-in of another user. */
  @Delete(':tokenId')
  @RequirePermission('monitor:online:forceLogout')
  @AnswersStatus()
  endOther(@CurrentCaller() caller: Caller, @Param('tokenId') tokenId: string): Promise<void> {
    return this.signIns.endOther(caller, tokenId);
  }
}
