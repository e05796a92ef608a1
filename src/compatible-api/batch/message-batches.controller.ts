import type { IncomingHttpHeaders } from 'node:http';
import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Inject,
  Param,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { z } from 'zod';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { AnswersRaw, currentRequest, LargeBody, NoEnvelope } from '../../platform/http/index.js';
import { sendAttachment } from '../../platform/storage/index.js';
import { requestIdHeader } from '../answer/answer.js';
import { parameters, plainText } from '../answer/parameters.js';
import { endsOf } from '../files/api-files.view.js';
import type { ApiBatch } from './api-batch.entity.js';
import { MessageBatchBody, MessageBatchesQuery } from './batches.dto.js';
import { Batches } from './batches.service.js';
import {
  DeletedMessageBatchView,
  MessageBatchesView,
  MessageBatchView,
  messageBatchView,
} from './batches.view.js';

const batchesQuery = z.looseObject({
  after_id: plainText(100).optional(),
  before_id: plainText(100).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
});

/** The Message Batches interface of Anthropic for its clients. */
@ApiTags('anthropic')
@Controller('v1/messages/batches')
@NoEnvelope()
export class MessageBatchesController {
  constructor(
    private readonly batches: Batches,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Answers messages in the background, within 24 hours. */
  @Post()
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ type: MessageBatchView })
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: MessageBatchBody,
    @Headers() headers: IncomingHttpHeaders,
    @Res({ passthrough: true }) response: Response,
  ): Promise<MessageBatchView> {
    response.set(requestIdHeader());
    return this.view(await this.batches.createOfMessages(caller, body, headers));
  }

  /** The own batches, newest first. */
  @Get()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: MessageBatchesView })
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: MessageBatchesQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<MessageBatchesView> {
    response.set(requestIdHeader());
    const { after_id: after, before_id: before, limit } = parameters(batchesQuery, query);
    const names = { after: 'after_id', before: 'before_id' };
    const page = { after, before, limit };
    const { batches, hasMore } = await this.batches.page(caller, 'messages', page, names);
    const data = batches.map((one) => this.view(one));
    return { data, has_more: hasMore, ...endsOf(data) };
  }

  /** One of them. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: MessageBatchView })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<MessageBatchView> {
    response.set(requestIdHeader());
    return this.view(await this.batches.get(caller, 'messages', id));
  }

  /** Cancels it: messages that have begun are still answered, and what was answered is kept. */
  @Post(':id/cancel')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: MessageBatchView })
  async cancel(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<MessageBatchView> {
    response.set(requestIdHeader());
    return this.view(await this.batches.cancel(caller, 'messages', id));
  }

  /** Deletes a batch that has ended, with its results. */
  @Delete(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: DeletedMessageBatchView })
  async remove(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DeletedMessageBatchView> {
    response.set(requestIdHeader());
    await this.batches.remove(caller, 'messages', id);
    return { id, type: 'message_batch_deleted' };
  }

  /** The results of a batch that has ended, one JSON object a line. */
  @Get(':id/results')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersRaw('application/x-jsonl', '{custom_id, result} a line, in the order of the requests')
  async results(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    response.set(requestIdHeader());
    const file = await this.batches.results(caller, id);
    await sendAttachment(response, { ...file, mimeType: 'application/x-jsonl' });
  }

  private view(batch: ApiBatch): MessageBatchView {
    return messageBatchView(batch, this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? '');
  }
}
