import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { RequirePermission } from '../platform/access/index.js';
import { AnswersArray } from '../platform/http/index.js';

export class McpToolView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({ example: 'search' })
  name: string;
}

/** The agent form of existing clients requests this list (docs/WIRE.md, Agents). */
@ApiTags('agents')
@Controller('mcp/tool')
export class McpToolController {
  /** The MCP tools that an agent can bind. The list is empty: there are none yet. */
  @Get('all')
  @RequirePermission('agent:agent:list')
  @AnswersArray(McpToolView)
  all(): McpToolView[] {
    return [];
  }
}
