import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { LargeBody, NoEnvelope } from '../../../platform/http/index.js';
import { Conversations } from './conversations.service.js';
import { ConversationBody, ConversationItemsBody, InputItemsQuery } from './responses.dto.js';
import {
  ConversationView,
  DeletedConversationView,
  InputItemsView,
  ITEM_SCHEMA,
} from './responses.view.js';
import type { JsonObject } from './stored-response.entity.js';

/** The conversations of the Responses interface. */
@ApiTags('openai')
@Controller('v1/conversations')
@NoEnvelope()
export class ConversationsController {
  constructor(private readonly conversations: Conversations) {}

  /** A new conversation, with items or without. */
  @Post()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @HttpCode(200)
  @LargeBody()
  @ApiOkResponse({ type: ConversationView })
  create(
    @CurrentCaller() caller: Caller,
    @Body() body: ConversationBody,
  ): Promise<ConversationView> {
    return this.conversations.create(caller, body);
  }

  /** A conversation of the caller. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: ConversationView })
  get(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<ConversationView> {
    return this.conversations.get(caller, id);
  }

  /** Replaces its metadata. */
  @Post(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @HttpCode(200)
  @ApiOkResponse({ type: ConversationView })
  update(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ConversationBody,
  ): Promise<ConversationView> {
    return this.conversations.update(caller, id, body);
  }

  /** Deletes it with its items. */
  @Delete(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: DeletedConversationView })
  remove(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
  ): Promise<DeletedConversationView> {
    return this.conversations.remove(caller, id);
  }

  /** Lists the items of a conversation. */
  @Get(':id/items')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: InputItemsView })
  items(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: InputItemsQuery,
  ): Promise<InputItemsView> {
    return this.conversations.list(caller, id, query);
  }

  /** Adds at most 20 items. */
  @Post(':id/items')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @HttpCode(200)
  @LargeBody()
  @ApiOkResponse({ type: InputItemsView })
  add(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ConversationItemsBody,
  ): Promise<InputItemsView> {
    return this.conversations.add(caller, id, body);
  }

  /** One of its items. */
  @Get(':id/items/:itemId')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ schema: ITEM_SCHEMA })
  item(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Param('itemId') itemId: string,
  ): Promise<JsonObject> {
    return this.conversations.item(caller, id, itemId);
  }

  /** Deletes one of its items, and answers the conversation. */
  @Delete(':id/items/:itemId')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: ConversationView })
  removeItem(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Param('itemId') itemId: string,
  ): Promise<ConversationView> {
    return this.conversations.removeItem(caller, id, itemId);
  }
}
