import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Direct, LoginOnly } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { LargeBody, NoEnvelope, WhileConnected } from '../../../platform/http/index.js';
import { reportingCall } from '../../answer/answer.js';
import { InputItemsQuery, ResponseBody, StoredResponseQuery } from './responses.dto.js';
import { Responses } from './responses.service.js';
import {
  DeletedResponseView,
  InputItemsView,
  InputTokensView,
  RESPONSE_SCHEMA,
} from './responses.view.js';

const CONTENT = {
  'application/json': { schema: RESPONSE_SCHEMA },
  'text/event-stream': { schema: { type: 'string' } },
} as const;

/** The Responses interface of OpenAI for its clients. */
@ApiTags('openai')
@Controller('v1/responses')
@NoEnvelope()
export class ResponsesController {
  constructor(private readonly responses: Responses) {}

  /** Answers a conversation, as a stream with stream: true. Stored unless store is false. */
  @Post()
  @Direct()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ description: 'The response, or its events', content: CONTENT })
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: ResponseBody,
    @Res() response: Response,
  ): Promise<void> {
    return this.responses.create(caller, body, response);
  }

  /** What a request takes of the window of its model. */
  @Post('input_tokens')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @HttpCode(200)
  @LargeBody()
  @ApiOkResponse({ type: InputTokensView })
  countTokens(
    @CurrentCaller() caller: Caller,
    @Body() body: ResponseBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() signal: AbortSignal,
  ): Promise<InputTokensView> {
    return reportingCall(caller, response, ({ trail }) =>
      this.responses.countTokens(caller, body, { trail, signal }),
    );
  }

  /** Ends a response in the background. */
  @Post(':id/cancel')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @HttpCode(200)
  @ApiOkResponse({ schema: RESPONSE_SCHEMA })
  cancel(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<object> {
    return this.responses.cancel(caller, id);
  }

  /** A stored response of the caller; with stream its events, those that are kept and those that come. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ description: 'The response, or its events', content: CONTENT })
  get(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: StoredResponseQuery,
    @Res() response: Response,
  ): Promise<void> {
    return this.responses.get(caller, id, query, response);
  }

  /** Deletes it. */
  @Delete(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: DeletedResponseView })
  remove(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeletedResponseView> {
    return this.responses.remove(caller, id);
  }

  /** The items of its request. */
  @Get(':id/input_items')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: InputItemsView })
  inputItems(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: InputItemsQuery,
  ): Promise<InputItemsView> {
    return this.responses.inputItems(caller, id, query);
  }
}
