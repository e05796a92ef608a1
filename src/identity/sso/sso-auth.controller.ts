import { Body, Controller, Get, Inject, Ip, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentCaller, LoginOnly, OptionalCaller, Public } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import type { RateLimit } from '../../platform/event/index.js';
import {
  Answers,
  AnswersArray,
  AnswersRaw,
  AnswersStatus,
  clientNetwork,
  currentRequest,
  FormBody,
  NoBody,
  NoEnvelope,
  SmallBody,
} from '../../platform/http/index.js';
import { LoginView } from '../sign-in/login.dto.js';
import { ProfileService } from '../user/profile.service.js';
import { browserOf, cookieFor, ownPath } from './sso.browser.js';
import { SsoDisconnect } from './sso.disconnect.js';
import {
  LogoutTokenDto,
  SsoCallbackQuery,
  SsoChoicesQuery,
  SsoConnectDto,
  SsoDisconnectDto,
  SsoExchangeDto,
  SsoStartQuery,
} from './sso.dto.js';
import { InvalidLogoutTokenError, SsoRefusedError } from './sso.errors.js';
import { FLOW_SECONDS } from './sso.flows.js';
import { SsoLogout } from './sso.logout.js';
import { SsoSignIn } from './sso.sign-in.js';
import type { RefusedSignIn } from './sso.sign-in.js';
import { SsoAddressView, SsoChoicesView, SsoConnectionView, SsoLogoutView } from './sso.view.js';

/** The page of the console that begins and ends a sign-in. */
const SIGN_IN_PAGE = '/sign-in';

/** Routes that browsers and providers call for a sign-in. Addresses that a browser opens redirect to the sign-in page. */
@ApiTags('single sign-on')
@Public()
@SmallBody()
@Controller('auth/sso')
export class SsoAuthController {
  private readonly attempts: RateLimit;
  /** Limit of invalid logout tokens, so that valid ones of a provider that ends many sign-ins at once pass. */
  private readonly badTokens: RateLimit;

  constructor(
    private readonly signIns: SsoSignIn,
    private readonly logouts: SsoLogout,
    private readonly disconnects: SsoDisconnect,
    private readonly profiles: ProfileService,
    private readonly limiter: RateLimiter,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    const points = config.LOGIN_ATTEMPTS_PER_MINUTE;
    this.attempts = { name: 'sso-attempts', points, seconds: 60 };
    this.badTokens = { name: 'sso-bad-tokens', points, seconds: 60 };
  }

  /** The providers that the sign-in page of a tenant offers. */
  @Get('providers')
  @Answers(SsoChoicesView)
  async choices(@Query() { tenantId }: SsoChoicesQuery, @Ip() ip: string): Promise<SsoChoicesView> {
    await this.limiter.consume(this.attempts, clientNetwork(ip));
    return this.signIns.choices(tenantId?.trim() || undefined);
  }

  /** Exchanges the code of an address that a sign-in has led to for a login token, once and within a minute. */
  @Post('exchange')
  @Answers(LoginView)
  async exchange(@Body() body: SsoExchangeDto, @Req() request: Request): Promise<LoginView> {
    await this.limiter.consume(this.attempts, clientNetwork(request.ip));
    const { ip, headers } = request;
    const origin = { ip, userAgent: headers['user-agent'] };
    return this.signIns.exchange(body, { browser: browserOf(request, this.base()) }, origin);
  }

  /** Ends the sign-in, and answers where it ends at the provider as well. Succeeds without a sign-in, too. */
  @Post('logout')
  @NoBody()
  @Answers(SsoLogoutView)
  async logout(@OptionalCaller() caller: Caller | undefined): Promise<SsoLogoutView> {
    const returnTo = new URL(SIGN_IN_PAGE, this.base()).href;
    return { address: caller ? await this.logouts.byCaller(caller, returnTo) : null };
  }

  /** The providers of the caller's tenant, and which of them sign the caller in. */
  @Get('connections')
  @LoginOnly()
  @AnswersArray(SsoConnectionView)
  connections(@CurrentCaller() caller: Caller): Promise<SsoConnectionView[]> {
    return this.signIns.connectionsOf(caller);
  }

  /**
   * Connects the caller, who proves their password, with a person at the provider, who signs in as the caller from then on.
   * Answers the address to open in the same browser while the sign-in is open, which leads to the provider and back to `returnTo`.
   */
  @Post(':provider/connect')
  @LoginOnly()
  @Answers(SsoAddressView)
  async connect(
    @CurrentCaller() caller: Caller,
    @Param('provider') publicId: string,
    @Body() { password, returnTo }: SsoConnectDto,
    @Req() request: Request,
  ): Promise<SsoAddressView> {
    const { homeTenantId: tenantId, userId, loginSessionId, clientId } = caller;
    await this.profiles.requirePassword(caller, password, request.ip);
    const base = this.base();
    const { address, browser } = await this.signIns.start(
      publicId,
      { clientId, returnTo: ownPath(returnTo), user: { tenantId, userId, loginSessionId } },
      { base, browser: browserOf(request, base) },
    );
    request.res?.setHeader('Set-Cookie', cookieFor(base, browser, FLOW_SECONDS));
    return { address: address.href };
  }

  /**
   * Disconnects the caller from the person at the provider and ends the sign-ins with it. Where no other provider signs the
   * caller in, `password` must be right and password sign-in allowed.
   */
  @Post(':provider/disconnect')
  @LoginOnly()
  @AnswersStatus()
  disconnect(
    @CurrentCaller() caller: Caller,
    @Param('provider') publicId: string,
    @Body() { password }: SsoDisconnectDto,
    @Ip() ip: string | undefined,
  ): Promise<void> {
    return this.disconnects.disconnectCaller(caller, publicId, { password, ip });
  }

  /** Leads to the provider, or back to the sign-in page with the reason in `ssoError`. */
  @Get(':provider/start')
  @NoEnvelope()
  @AnswersRaw('text/html', 'Always a redirect (302)')
  async start(
    @Param('provider') publicId: string,
    @Query() { clientId = '', returnTo }: SsoStartQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    await this.limiter.consume(this.attempts, clientNetwork(request.ip));
    const base = this.base();
    const options = { clientId, returnTo: ownPath(returnTo) };
    try {
      const context = { base, browser: browserOf(request, base) };
      const { address, browser } = await this.signIns.start(publicId, options, context);
      response.setHeader('Set-Cookie', cookieFor(base, browser, FLOW_SECONDS));
      redirect(response, address.href);
    } catch (error) {
      if (!(error instanceof SsoRefusedError)) throw error;
      redirect(response, this.pageOf({ refusal: error, returnTo: options.returnTo }));
    }
  }

  /**
   * Where the provider leads the browser: on to the sign-in page, with a code in the fragment or the reason in `ssoError`; a
   * caller who is signed in, back to `returnTo`.
   */
  @Get(':provider/callback')
  @NoEnvelope()
  @AnswersRaw('text/html', 'Always a redirect (302)')
  async callback(
    @Param('provider') publicId: string,
    @Query() _: SsoCallbackQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const base = this.base();
    // The query is read as it was sent: the provider may add parameters that are checked, such as iss.
    const { searchParams } = new URL(request.originalUrl, base);
    const context = { base, browser: browserOf(request, base) };
    const answer = await this.signIns.answer(publicId, searchParams, context);
    if ('refusal' in answer) {
      redirect(response, this.pageOf(answer));
      return;
    }
    if (answer.code === undefined) {
      redirect(response, new URL(answer.returnTo, base).href);
      return;
    }
    const page = this.page(answer.returnTo);
    // A fragment is in no log and in no Referer.
    page.hash = `sso=${answer.code}`;
    redirect(response, page.href);
  }

  /** OpenID Connect Back-Channel Logout 1.0: ends the sign-ins that the token names, and their open streams. */
  @Post(':provider/backchannel-logout')
  @NoEnvelope()
  @FormBody()
  @ApiOkResponse({
    description: 'The sign-ins have ended',
    content: { 'text/plain': { schema: { type: 'string' } } },
  })
  async backchannel(
    @Param('provider') publicId: string,
    @Body() { logout_token: token }: LogoutTokenDto,
    @Ip() ip: string,
    @Res() response: Response,
  ): Promise<void> {
    const network = clientNetwork(ip);
    await this.limiter.check(this.badTokens, network);
    try {
      if (!token) throw new InvalidLogoutTokenError();
      await this.logouts.byProvider(publicId, token);
    } catch (error) {
      if (error instanceof InvalidLogoutTokenError) {
        await this.limiter.consume(this.badTokens, network);
      }
      throw error;
    }
    response.status(200).set('Cache-Control', 'no-store').type('text/plain').send('');
  }

  /** The address of the API for browsers. */
  private base(): string {
    return this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? 'http://localhost';
  }

  private page(returnTo: string): URL {
    const page = new URL(SIGN_IN_PAGE, this.base());
    if (returnTo !== '/') page.searchParams.set('next', returnTo);
    return page;
  }

  private pageOf({ refusal, returnTo, tenantId, isSignedIn }: RefusedSignIn): string {
    const page = isSignedIn ? new URL(returnTo, this.base()) : this.page(returnTo);
    page.searchParams.set('ssoError', refusal.refusal);
    if (tenantId !== undefined) page.searchParams.set('tenant', tenantId);
    return page.href;
  }
}

function redirect(response: Response, address: string): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.redirect(302, address);
}
