import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LoginOnly } from '../platform/access/index.js';
import { Answers, integer, list, text, View } from '../platform/http/index.js';

export class WorkflowView extends View({
  uuid: text({ example: '018f6a2e-0000-7000-8000-000000000000' }),
  title: text({ example: 'Report' }),
  remark: text({ example: '' }),
}) {}

export class WorkflowsView extends View({
  records: list(WorkflowView, { example: [] }),
  total: integer({ example: 0 }),
}) {}

/** Existing end-user apps request this list beside the agents (docs/WIRE.md, Agents). */
@ApiTags('existing consoles')
@Controller('workflow/public')
export class WorkflowController {
  /** The public workflows. The list is empty: there are none yet. */
  @Get('search')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @Answers(WorkflowsView)
  search(): WorkflowsView {
    return { records: [], total: 0 };
  }
}
