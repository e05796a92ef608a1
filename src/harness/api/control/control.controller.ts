import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { Answers } from '../../../platform/http/index.js';
import { CapabilityService } from './capability.service.js';
import { SwitchWritesBody } from './control.dto.js';
import { CapabilitiesView } from './control.view.js';

@ApiTags('coding harness')
@Controller('coding/harness')
@RequirePermission('coding:harness:use')
export class ControlController {
  constructor(private readonly capabilities: CapabilityService) {}

  /** What the harness of this server can do: its tools, limits, modes and policies. */
  @Get('capabilities')
  @Answers(CapabilitiesView)
  can(): Promise<CapabilitiesView> {
    return this.capabilities.get();
  }

  /** Stops or allows everything that changes files, in every tenant. For super administrators only. */
  @Post('admin/writes')
  @Answers(CapabilitiesView)
  switchWrites(
    @CurrentCaller() caller: Caller,
    @Body() { enabled }: SwitchWritesBody,
  ): Promise<CapabilitiesView> {
    return this.capabilities.switchWrites(caller, enabled);
  }
}
