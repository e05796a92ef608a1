import { Body, Controller, Delete, Get, Ip, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersStatus, FailsWith, IdPipe } from '../../platform/http/index.js';
import {
  ConfirmationDto,
  ConfirmedFactorView,
  ConfirmedIdentityDto,
  EnrolmentView,
  OwnEnrolmentDto,
  RecoveryCodesView,
  RemovedFactorDto,
  SecondFactorsView,
  WrongConfirmationView,
} from './second-factor.dto.js';
import { SecondFactorService } from './second-factor.service.js';

@ApiTags('own account')
@LoginOnly()
@Controller('system/user/profile/second-factor')
export class SecondFactorController {
  constructor(private readonly factors: SecondFactorService) {}

  /** The second factors of the caller. */
  @Get()
  @Answers(SecondFactorsView)
  list(@CurrentCaller() caller: Caller): Promise<SecondFactorsView> {
    return this.factors.list(caller);
  }

  /** Begins an enrolment, which the password or a code of another factor allows. */
  @Post()
  @Answers(EnrolmentView)
  enrol(
    @CurrentCaller() caller: Caller,
    @Body() body: OwnEnrolmentDto,
    @Ip() ip: string | undefined,
  ): Promise<EnrolmentView> {
    return this.factors.enrolOwn(caller, body, ip);
  }

  /** Confirms the enrolment. The factor acts from now on; the first one comes with recovery codes. */
  @Post('confirm')
  @Answers(ConfirmedFactorView)
  @FailsWith(WrongConfirmationView)
  async confirm(
    @CurrentCaller() caller: Caller,
    @Body() body: ConfirmationDto,
  ): Promise<ConfirmedFactorView> {
    return { recoveryCodes: await this.factors.confirmOwn(caller, body) };
  }

  /** Removes a factor, and with the last one the recovery codes. Needs the password or a code. */
  @Post('remove')
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Body() body: RemovedFactorDto,
    @Ip() ip: string | undefined,
  ): Promise<void> {
    return this.factors.removeOwn(caller, body, ip);
  }

  /** Replaces the recovery codes. Needs the password or a code. */
  @Post('recovery')
  @Answers(RecoveryCodesView)
  async renewRecoveryCodes(
    @CurrentCaller() caller: Caller,
    @Body() body: ConfirmedIdentityDto,
    @Ip() ip: string | undefined,
  ): Promise<RecoveryCodesView> {
    return { recoveryCodes: await this.factors.renewRecoveryCodes(caller, body, ip) };
  }
}

@ApiTags('users')
@Controller('system/user')
export class SecondFactorUserController {
  constructor(private readonly factors: SecondFactorService) {}

  /** Removes all second factors of another user and ends their sign-ins. */
  @Delete(':userId/second-factor')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('userId', IdPipe) userId: number): Promise<void> {
    return this.factors.removeAll(caller, userId);
  }
}
