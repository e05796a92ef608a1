import { Body, Controller, Get, Header, HttpCode, Inject, Ip, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Public } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { RateLimiter } from '../platform/event/index.js';
import type { RateLimit } from '../platform/event/index.js';
import { clientNetwork, FormBody, NoEnvelope, SmallBody } from '../platform/http/index.js';
import { baseOf, McpResources } from '../mcp-server/index.js';
import { OAuthClients } from './oauth.clients.js';
import { RegisterClientDto, RevokeTokenDto, TokenDto } from './oauth.dto.js';
import { OAuthError } from './oauth.errors.js';
import { OAuthService } from './oauth.service.js';
import { RegisteredClientView, ServerMetadataView, TokenView } from './oauth.view.js';

const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** Routes that clients of OAuth call. The authorization endpoint is a page of the console. */
@ApiTags('OAuth')
@Controller()
@Public()
@SmallBody()
@NoEnvelope()
export class OAuthController {
  private readonly registrations: RateLimit;
  /** Limit of refused tokens, so that those of clients behind one address pass. */
  private readonly refusals: RateLimit;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly oauth: OAuthService,
    private readonly clients: OAuthClients,
    private readonly resources: McpResources,
    private readonly limiter: RateLimiter,
  ) {
    const points = config.LOGIN_ATTEMPTS_PER_MINUTE;
    this.registrations = { name: 'oauth-registrations', points, seconds: 60 };
    this.refusals = { name: 'oauth-refusals', points, seconds: 60 };
  }

  /** Where clients register, ask people for consent and fetch tokens (RFC 8414). */
  @Get('.well-known/oauth-authorization-server')
  @ApiOkResponse({ type: ServerMetadataView })
  metadata(): ServerMetadataView {
    const base = baseOf(this.config);
    return ServerMetadataView.of({
      issuer: base,
      authorization_endpoint: new URL('/oauth/authorize', base).href,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      scopes_supported: this.resources.all.flatMap(({ permissions }) => permissions),
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: GRANT_TYPES,
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  }

  /** Registers a public client (RFC 7591) for 90 days. After that a client without a refresh token registers again. */
  @Post('oauth/register')
  @HttpCode(201)
  @Header('Cache-Control', 'no-store')
  @ApiCreatedResponse({ type: RegisteredClientView })
  async register(
    @Body() { client_name: clientName, redirect_uris: uris }: RegisterClientDto,
    @Ip() ip: string,
  ): Promise<RegisteredClientView> {
    await this.limiter.consume(this.registrations, clientNetwork(ip));
    const { id, name, redirectUris } = this.clients.register(clientName, uris);
    return RegisteredClientView.of({
      client_id: id,
      client_id_issued_at: Math.floor(Date.now() / 1_000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: GRANT_TYPES,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
  }

  /** Exchanges a code or a refresh token, each once, for an access token of an hour and another refresh token. */
  @Post('oauth/token')
  @HttpCode(200)
  @FormBody()
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ type: TokenView })
  token(@Body() body: TokenDto, @Ip() ip: string): Promise<TokenView> {
    return this.limitingRefusals(ip, () => this.oauth.token(body));
  }

  /** Revokes the key of a token (RFC 7009). An unknown token is no error. */
  @Post('oauth/revoke')
  @HttpCode(200)
  @FormBody()
  @Header('Cache-Control', 'no-store')
  @ApiOkResponse({ schema: { type: 'object' } })
  async revoke(@Body() body: RevokeTokenDto): Promise<object> {
    await this.oauth.revoke(body);
    return {};
  }

  private async limitingRefusals<T>(ip: string, work: () => Promise<T>): Promise<T> {
    const network = clientNetwork(ip);
    await this.limiter.check(this.refusals, network);
    try {
      return await work();
    } catch (error) {
      if (error instanceof OAuthError) await this.limiter.consume(this.refusals, network);
      throw error;
    }
  }
}
