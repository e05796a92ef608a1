import { Controller, Get, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly, OptionalCaller, Public } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersRaw, AnswersStatus, NoEnvelope } from '../../platform/http/index.js';
import { NoticeChannel } from './notice.channel.js';

@ApiTags('own account')
@Controller('resource/sse')
export class NoticeController {
  constructor(private readonly channel: NoticeChannel) {}

  /** An event stream that is open until the sign-in ends. Browsers send the token in the query. */
  @Get()
  @LoginOnly({ tokenInQuery: true })
  @NoEnvelope()
  @AnswersRaw('text/event-stream', 'Comments only')
  open(@CurrentCaller() caller: Caller, @Res() response: Response): void {
    this.channel.open(caller, response);
  }

  /** Closes the event streams of the caller. Succeeds without a sign-in, too. */
  @Get('close')
  @Public()
  @AnswersStatus()
  close(@OptionalCaller() caller: Caller | undefined): void {
    if (caller) this.channel.close(caller);
  }
}
