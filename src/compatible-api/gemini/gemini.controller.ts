import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { LargeBody, NoEnvelope } from '../../platform/http/index.js';
import { GeminiModelsQuery, GenerateContentBody } from './gemini.dto.js';
import { Gemini } from './gemini.service.js';
import { GeminiModelsView, GeminiModelView, GENERATED } from './gemini.view.js';

/** The Gemini interface of Google for its clients: HTTP statuses and its form of errors instead of the envelope. */
@ApiTags('gemini')
@Controller('v1beta/models')
@NoEnvelope()
export class GeminiController {
  constructor(private readonly gemini: Gemini) {}

  /** The models and agents that the caller can use. */
  @Get()
  @LoginOnly({ apiKey: 'any' })
  @ApiOkResponse({ type: GeminiModelsView })
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: GeminiModelsQuery,
  ): Promise<GeminiModelsView> {
    return this.gemini.list(caller, query);
  }

  /** One of them. */
  @Get(':model')
  @LoginOnly({ apiKey: 'any' })
  @ApiOkResponse({ type: GeminiModelView })
  get(@CurrentCaller() caller: Caller, @Param('model') model: string): Promise<GeminiModelView> {
    return this.gemini.get(caller, model);
  }

  /** Asks a model: `call` is its id and :generateContent, :streamGenerateContent, :countTokens, :embedContent or :batchEmbedContents. Nothing is stored. */
  @Post(':call')
  @HttpCode(200)
  @ApiParam({ name: 'call', example: 'gemini-2.5-flash:generateContent' })
  @ApiQuery({ name: 'alt', required: false, enum: ['sse', 'json'] })
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse(GENERATED)
  run(
    @CurrentCaller() caller: Caller,
    @Param('call') call: string,
    @Body() body: GenerateContentBody,
    @Res() response: Response,
  ): Promise<void> {
    return this.gemini.run(caller, { call, body }, response);
  }
}
