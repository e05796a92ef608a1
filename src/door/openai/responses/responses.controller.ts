import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Direct, LoginOnly } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { LargeBody, NoEnvelope } from '../../../platform/http/index.js';
import { InputItemsQuery, ResponseBody, StoredResponseQuery } from './responses.dto.js';
import { Responses } from './responses.service.js';
import { DeletedResponseView, InputItemsView, RESPONSE_SCHEMA } from './responses.view.js';

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
  @ApiOkResponse({
    description: 'The response, or its events',
    content: {
      'application/json': { schema: RESPONSE_SCHEMA },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: ResponseBody,
    @Res() response: Response,
  ): Promise<void> {
    return this.responses.create(caller, body, response);
  }

  /** A stored response of the caller. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ schema: RESPONSE_SCHEMA })
  get(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: StoredResponseQuery,
  ): Promise<object> {
    return this.responses.get(caller, id, query);
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
