import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { NoEnvelope } from '../../platform/http/index.js';
import { parameters, plainText } from '../answer/parameters.js';
import { endsOf } from '../files/api-files.view.js';
import { BatchBody, BatchesQuery } from './batches.dto.js';
import { Batches } from './batches.service.js';
import { BatchesView, BatchView, batchView } from './batches.view.js';

const batchesQuery = z.looseObject({
  after: plainText(100).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

/** The Batch interface of OpenAI for its clients. */
@ApiTags('openai')
@Controller('v1/batches')
@NoEnvelope()
export class BatchesController {
  constructor(private readonly batches: Batches) {}

  /** Answers the requests of a file in the background, within 24 hours. */
  @Post()
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: BatchView })
  async create(@CurrentCaller() caller: Caller, @Body() body: BatchBody): Promise<BatchView> {
    return batchView(await this.batches.create(caller, body));
  }

  /** The own batches, newest first. */
  @Get()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: BatchesView })
  async list(@CurrentCaller() caller: Caller, @Query() query: BatchesQuery): Promise<BatchesView> {
    const page = parameters(batchesQuery, query);
    const names = { after: 'after', before: 'before' };
    const { batches, hasMore } = await this.batches.page(caller, 'openai', page, names);
    const data = batches.map(batchView);
    return { object: 'list', data, ...endsOf(data), has_more: hasMore };
  }

  /** One of them. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: BatchView })
  async get(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<BatchView> {
    return batchView(await this.batches.get(caller, 'openai', id));
  }

  /** Cancels it: requests that have begun are still answered, and what was answered is kept. */
  @Post(':id/cancel')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ApiOkResponse({ type: BatchView })
  async cancel(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<BatchView> {
    return batchView(await this.batches.cancel(caller, 'openai', id));
  }
}
