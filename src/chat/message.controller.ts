import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersId,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  WithExport,
} from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import {
  CreateMessageBody,
  MessageListQuery,
  messageSheet,
  MessageView,
  UpdateMessageBody,
} from './message.dto.js';
import { MessageService } from './message.service.js';

@ApiTags('chat messages')
@Controller('system/message')
export class MessageController {
  constructor(private readonly messages: MessageService) {}

  /** The caller's own messages: those of a session oldest first, all of them newest first. */
  @Get('list')
  @RequirePermission('system:message:list')
  @AnswersPage(MessageView)
  @WithExport(messageSheet, RequirePermission('system:message:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: MessageListQuery,
  ): Promise<Page<MessageView>> {
    return this.messages.list(caller, query);
  }

  /** One of the caller's messages. */
  @Get(':id')
  @RequirePermission('system:message:query')
  @Answers(MessageView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<MessageView> {
    return this.messages.detail(caller, id);
  }

  /** Adds a message to one of the caller's sessions without calling a model; `data` is its id. */
  @Post()
  @RequirePermission('system:message:add')
  @AnswersId('string')
  create(@CurrentCaller() caller: Caller, @Body() body: CreateMessageBody): Promise<string> {
    return this.messages.create(caller, body);
  }

  /** Changes the text or remark of a message. */
  @Put()
  @RequirePermission('system:message:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateMessageBody): Promise<void> {
    return this.messages.update(caller, body);
  }

  /** Deletes messages. */
  @Delete(':ids')
  @RequirePermission('system:message:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.messages.remove(caller, ids);
  }
}
