import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  Answers,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  WithExport,
} from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { TestQueryView } from '../../retrieval/index.js';
import {
  FeedbackBody,
  FeedbackListQuery,
  feedbackSheet,
  FeedbackTestQueryBody,
  FeedbackView,
} from './feedback.dto.js';
import { FeedbackService } from './feedback.service.js';

@ApiTags('chat feedback')
@Controller('chat/feedback')
export class FeedbackController {
  constructor(private readonly feedback: FeedbackService) {}

  /** The feedback of all users with questions, answers and sources, newest first. */
  @Get('list')
  @RequirePermission('chat:feedback:list')
  @AnswersPage(FeedbackView)
  @WithExport(feedbackSheet, RequirePermission('chat:feedback:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: FeedbackListQuery,
  ): Promise<Page<FeedbackView>> {
    return this.feedback.list(caller, query);
  }

  /** Makes the question a test query of a knowledge base, which is expected to find what the answer cites from it. */
  @Post(':id/testQuery')
  @RequirePermission('chat:feedback:list', { also: 'system:info:edit' })
  @Answers(TestQueryView)
  makeTestQuery(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() { knowledgeId }: FeedbackTestQueryBody,
  ): Promise<TestQueryView> {
    return this.feedback.makeTestQuery(caller, id, knowledgeId);
  }

  /** Sets the caller's vote on one of their answers. */
  @Put(':messageId')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersStatus()
  vote(
    @CurrentCaller() caller: Caller,
    @Param('messageId', IdPipe) messageId: number,
    @Body() body: FeedbackBody,
  ): Promise<void> {
    return this.feedback.put(caller, messageId, body);
  }

  /** Removes the caller's vote. */
  @Delete(':messageId')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersStatus()
  remove(
    @CurrentCaller() caller: Caller,
    @Param('messageId', IdPipe) messageId: number,
  ): Promise<void> {
    return this.feedback.remove(caller, messageId);
  }
}
