import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LoginOnly, RequirePermission } from '../platform/access/index.js';
import { Answers, AnswersArray, integer, list, text, View } from '../platform/http/index.js';

export class McpToolView extends View({
  id: integer({ example: 1 }),
  name: text({ example: 'search' }),
}) {}

export class WorkflowView extends View({
  uuid: text({ example: '018f6a2e-0000-7000-8000-000000000000' }),
  title: text({ example: 'Report' }),
  remark: text({ example: '' }),
}) {}

export class WorkflowsView extends View({
  records: list(WorkflowView, { example: [] }),
  total: integer({ example: 0 }),
}) {}

/** The agent form of existing clients requests this list (docs/WIRE.md, Agents). */
@ApiTags('existing consoles')
@Controller('mcp/tool')
export class McpToolController {
  /** The MCP tools that an agent can bind. The list is empty: there are none yet. */
  @Get('all')
  @RequirePermission('agent:agent:list')
  @AnswersArray(McpToolView)
  list(): McpToolView[] {
    return [];
  }
}

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
