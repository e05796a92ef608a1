import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, WhileConnected } from '../platform/http/index.js';
import { AuthorizationQuery, ConsentDto } from './oauth.dto.js';
import { OAuthService } from './oauth.service.js';
import { ConsentAnswerView, ConsentView } from './oauth.view.js';

/** The page on which a person decides what an application may do for them. */
@ApiTags('OAuth')
@Controller('oauth/consent')
export class ConsentController {
  constructor(private readonly oauth: OAuthService) {}

  /** Who asks the caller, and for what. The query is that of the authorization request. */
  @Get()
  @RequirePermission('system:apikey:list')
  @Answers(ConsentView)
  asked(
    @CurrentCaller() caller: Caller,
    @Query() query: AuthorizationQuery,
    @WhileConnected() signal: AbortSignal,
  ): Promise<ConsentView> {
    return this.oauth.asked(caller, query, signal);
  }

  /** Approves or refuses, and answers the address to lead the person to. Approving creates an API key with the chosen permissions. */
  @Post()
  @RequirePermission('system:apikey:add')
  @Answers(ConsentAnswerView)
  async decide(
    @CurrentCaller() caller: Caller,
    @Body() body: ConsentDto,
    @WhileConnected() signal: AbortSignal,
  ): Promise<ConsentAnswerView> {
    return ConsentAnswerView.of({ address: await this.oauth.decide(caller, body, signal) });
  }
}
