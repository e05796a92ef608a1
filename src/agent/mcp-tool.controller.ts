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

/** The form of an agent asks for them (architecture, section 10). */
@ApiTags('agents')
@Controller('mcp/tool')
export class McpToolController {
  /** The MCP tools that an agent can be given: there are none yet, so the list is empty. */
  @Get('all')
  @RequirePermission('agent:agent:list')
  @AnswersArray(McpToolView)
  all(): McpToolView[] {
    return [];
  }
}
