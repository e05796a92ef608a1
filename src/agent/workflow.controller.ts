import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { LoginOnly } from '../platform/access/index.js';
import { Answers } from '../platform/http/index.js';

export class WorkflowView {
  @ApiProperty({ example: '018f6a2e-0000-7000-8000-000000000000' })
  uuid: string;

  @ApiProperty({ example: 'Report' })
  title: string;

  @ApiProperty({ example: '' })
  remark: string;
}

export class WorkflowsView {
  @ApiProperty({ type: [WorkflowView], example: [] })
  records: WorkflowView[];

  @ApiProperty({ type: 'integer', example: 0 })
  total: number;
}

/** Existing end-user apps request this list beside the agents (docs/WIRE.md, Agents). */
@ApiTags('agents')
@Controller('workflow/public')
export class WorkflowController {
  /** The public workflows. The list is empty: there are none yet. */
  @Get('search')
  @LoginOnly()
  @Answers(WorkflowsView)
  search(): WorkflowsView {
    return { records: [], total: 0 };
  }
}
