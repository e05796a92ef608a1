import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Answers, IdPipe, WhileConnected } from '../../platform/http/index.js';
import { PreviewBody } from './preview.dto.js';
import { PreviewService } from './preview.service.js';
import { PreviewView } from './preview.view.js';

@ApiTags('knowledge bases')
@Controller('system/info')
export class PreviewController {
  constructor(private readonly previews: PreviewService) {}

  /** Splits a document of the knowledge base with the given settings and stores nothing: how its fragments would look. */
  @Post(':id/preview')
  @RequirePermission('system:info:query')
  @Answers(PreviewView)
  split(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() body: PreviewBody,
    @WhileConnected() signal: AbortSignal,
  ): Promise<PreviewView> {
    return this.previews.preview(caller, id, { body, signal });
  }
}
