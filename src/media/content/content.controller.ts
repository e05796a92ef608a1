import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersRaw, NoEnvelope, WhileConnected } from '../../platform/http/index.js';
import { ContentQuery } from '../media.dto.js';
import { ContentService } from './content.service.js';

@ApiTags('media')
@Controller('media')
export class MediaContentController {
  constructor(private readonly content: ContentService) {}

  /** The picture, sound or film of a completed prediction. */
  @Get('content')
  @NoEnvelope()
  @LoginOnly({ apiKey: 'media:media:use' })
  @AnswersRaw('*/*', 'The resource in its own type, at most 64 MiB')
  get(
    @CurrentCaller() caller: Caller,
    @Query() query: ContentQuery,
    @WhileConnected() disconnected: AbortSignal,
    @Res() response: Response,
  ): Promise<void> {
    return this.content.send(caller, query, { response, disconnected });
  }
}
