import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  Param,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import * as oidc from 'openid-client';
import { CurrentCaller, LoginOnly, Public } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import {
  Answers,
  AnswersArray,
  AnswersRaw,
  AnswersStatus,
  currentRequest,
  IdPipe,
  NoEnvelope,
  WhileConnected,
} from '../../platform/http/index.js';
import { browserOf, cookieFor, ownPath } from '../../identity/index.js';
import {
  AccountAddressView,
  AccountAnswerQuery,
  ClientDocumentView,
  ConnectAccountBody,
  ServerAccountView,
} from './account.dto.js';
import { AccountFlows, documentAddressOf, FLOW_SECONDS, redirectUriOf } from './account.flow.js';
import { clientMetadataOf } from './oauth.client.js';

/** Accounts with which tool servers are used. */
@ApiTags('tool servers')
@Controller('mcp/account')
export class ServerAccountController {
  constructor(
    private readonly flows: AccountFlows,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The tool servers whose account the caller can connect, by name: their own, and shared ones of servers that they may change. */
  @Get('all')
  @LoginOnly()
  @AnswersArray(ServerAccountView)
  list(@CurrentCaller() caller: Caller): Promise<ServerAccountView[]> {
    return this.flows.list(caller);
  }

  /**
   * Begins to connect an account. Answers the address to open in the same browser while the sign-in is open: that of the authorization
   * server, which leads back to `returnTo`.
   */
  @Post(':serverId/connect')
  @LoginOnly()
  @Answers(AccountAddressView)
  async connect(
    @CurrentCaller() caller: Caller,
    @Param('serverId', IdPipe) serverId: number,
    @Body() { returnTo }: ConnectAccountBody,
    @Req() request: Request,
    @WhileConnected() signal: AbortSignal,
  ): Promise<AccountAddressView> {
    const base = this.base();
    const browser = browserOf(request, base) ?? oidc.randomState();
    const context = { base, browser, returnTo: ownPath(returnTo) };
    const address = await this.flows.start(caller, serverId, context, signal);
    request.res?.setHeader('Set-Cookie', cookieFor(base, browser, FLOW_SECONDS));
    return { address: address.href };
  }

  /** Removes the account, and revokes its grant where the authorization server offers that. */
  @Delete(':serverId')
  @LoginOnly()
  @AnswersStatus()
  disconnect(
    @CurrentCaller() caller: Caller,
    @Param('serverId', IdPipe) serverId: number,
  ): Promise<void> {
    return this.flows.disconnect(caller, serverId);
  }

  /** Where the authorization server leads the browser: on to `returnTo`, with `connected` or `connectError`. */
  @Get(':serverId/callback')
  @Public()
  @NoEnvelope()
  @AnswersRaw('text/html', 'Always a redirect (302)')
  async callback(
    @Param('serverId', IdPipe) serverId: number,
    @Query() _: AccountAnswerQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const base = this.base();
    // The query is read as it was sent: all of it is checked.
    const { searchParams } = new URL(request.originalUrl, base);
    const context = { base, browser: browserOf(request, base) };
    const { returnTo, failure } = await this.flows.answer(serverId, searchParams, context);
    const page = new URL(returnTo, base);
    if (failure === undefined) page.searchParams.set('connected', String(serverId));
    else page.searchParams.set('connectError', failure);
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.redirect(302, page.href);
  }

  /** How Plinth introduces itself to authorization servers that read client id metadata documents. */
  @Get(':serverId/client')
  @Public()
  @NoEnvelope()
  @ApiExtraModels(ClientDocumentView)
  @ApiOkResponse({
    content: {
      'application/json': {
        schema: {
          oneOf: [
            { $ref: getSchemaPath(ClientDocumentView) },
            { $ref: '#/components/schemas/Failure' },
          ],
        },
      },
    },
  })
  client(@Param('serverId', IdPipe) serverId: number): ClientDocumentView {
    const base = this.base();
    return ClientDocumentView.of({
      client_id: documentAddressOf(base, serverId),
      ...clientMetadataOf(redirectUriOf(base, serverId)),
    });
  }

  private base(): string {
    return this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? 'http://localhost';
  }
}
