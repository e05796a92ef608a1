import { Body, Controller, Get, Headers, Ip, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { OptionalCaller, Public } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, AnswersStatus } from '../../platform/http/index.js';
import type { SignInOrigin } from '../sign-in/sign-in.service.js';
import { SignInService } from '../sign-in/sign-in.service.js';
import { Captcha } from './captcha.js';
import { LoginDto, RegisterDto } from './login.dto.js';
import { LoginService } from './login.service.js';
import { CaptchaView, LoginView, TenantChoicesView } from './login.view.js';
import { Registration } from './registration.js';
import { Origin } from './sign-in-origin.decorator.js';
import { TenantChoices } from './tenant.choices.js';

@ApiTags('sign-in')
@Public()
@Controller('auth')
export class LoginController {
  constructor(
    private readonly logins: LoginService,
    private readonly signIns: SignInService,
    private readonly captcha: Captcha,
    private readonly registration: Registration,
    private readonly choices: TenantChoices,
  ) {}

  /** Signs a user in. */
  @Post('login')
  @Answers(LoginView)
  login(@Body() body: LoginDto, @Origin() origin: SignInOrigin): Promise<LoginView> {
    return this.logins.signIn(body, origin);
  }

  /** Ends the sign-in, if there is one; never fails for want of it. */
  @Post('logout')
  @AnswersStatus()
  async logout(@OptionalCaller() caller: Caller | undefined): Promise<void> {
    if (caller) await this.signIns.signOut(caller);
  }

  /** Makes a user of one's own, in tenants that allow it. */
  @Post('register')
  @AnswersStatus()
  register(@Body() body: RegisterDto, @Ip() ip: string): Promise<void> {
    return this.registration.register(body, ip);
  }

  /** A captcha, where one is asked for. */
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
    return this.choices.list(caller, referer, ip);
  }
}
