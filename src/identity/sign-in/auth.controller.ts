import { Body, Controller, createParamDecorator, Get, Headers, Ip, Post } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { OptionalCaller, Public } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersStatus, FailsWith, SmallBody } from '../../platform/http/index.js';
import type { SignInOrigin } from '../login-session/login-session.service.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import {
  ConfirmationDto,
  EnrolmentDto,
  EnrolmentView,
  SecondStepDto,
  SecondStepView,
  WrongConfirmationView,
} from '../second-factor/second-factor.dto.js';
import { Captcha } from './captcha.js';
import {
  CaptchaView,
  EnrolledLoginView,
  LoginDto,
  LoginView,
  RegisterDto,
  TenantChoicesView,
} from './login.dto.js';
import { LoginService } from './login.service.js';

const Origin = createParamDecorator((_: unknown, context: ExecutionContext): SignInOrigin => {
  const request = context.switchToHttp().getRequest<Request>();
  return { ip: request.ip, userAgent: request.headers['user-agent'] };
});

@ApiTags('sign-in')
@Public()
@SmallBody()
@Controller('auth')
export class AuthController {
  constructor(
    private readonly logins: LoginService,
    private readonly sessions: LoginSessionService,
    private readonly captcha: Captcha,
  ) {}

  /** Signs a user in. Where a second step is needed, code 500 with its challenge in `data`. */
  @Post('login')
  @Answers(LoginView)
  @FailsWith(SecondStepView)
  login(@Body() body: LoginDto, @Origin() origin: SignInOrigin): Promise<LoginView> {
    return this.logins.signIn(body, origin);
  }

  /** Proves a second factor, which completes the sign-in. A wrong one answers a new challenge. */
  @Post('login/second-factor')
  @Answers(LoginView)
  @FailsWith(SecondStepView)
  prove(@Body() body: SecondStepDto, @Origin() origin: SignInOrigin): Promise<LoginView> {
    return this.logins.prove(body, origin);
  }

  /** Begins the enrolment of the first second factor, for a user whose role requires one. */
  @Post('login/second-factor/enrol')
  @Answers(EnrolmentView)
  enrol(@Body() body: EnrolmentDto, @Origin() origin: SignInOrigin): Promise<EnrolmentView> {
    return this.logins.enrol(body, origin);
  }

  /** Confirms that enrolment, which completes the sign-in. */
  @Post('login/second-factor/confirm')
  @Answers(EnrolledLoginView)
  @FailsWith(WrongConfirmationView)
  confirm(
    @Body() body: ConfirmationDto,
    @Origin() origin: SignInOrigin,
  ): Promise<EnrolledLoginView> {
    return this.logins.confirm(body, origin);
  }

  /** Ends the sign-in. Succeeds without one, too. */
  @Post('logout')
  @AnswersStatus()
  async logout(@OptionalCaller() caller: Caller | undefined): Promise<void> {
    if (caller) await this.sessions.signOut(caller);
  }

  /** Registers a user, in tenants that allow it. */
  @Post('register')
  @AnswersStatus()
  register(@Body() body: RegisterDto, @Ip() ip: string): Promise<void> {
    return this.logins.register(body, ip);
  }

  /** A captcha, if required. */
  @Get('code')
  @Answers(CaptchaView)
  code(@Ip() ip: string): Promise<CaptchaView> {
    return this.captcha.draw(ip);
  }

  /** The tenants to choose from when signing in. */
  @Get('tenant/list')
  @Answers(TenantChoicesView)
  tenants(
    @OptionalCaller() caller: Caller | undefined,
    @Headers('referer') referer: string | undefined,
    @Ip() ip: string,
  ): Promise<TenantChoicesView> {
    return this.logins.tenantChoices(caller, referer, ip);
  }
}
