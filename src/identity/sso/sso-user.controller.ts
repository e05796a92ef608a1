import { Body, Controller, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersStatus } from '../../platform/http/index.js';
import { SsoDisconnect } from './sso.disconnect.js';
import { DisconnectedUserDto } from './sso.dto.js';

@ApiTags('users')
@Controller('system/user')
export class SsoUserController {
  constructor(private readonly disconnects: SsoDisconnect) {}

  /** Disconnects another user from all providers and ends the sign-ins with them. */
  @Put('disconnect')
  @RequirePermission('system:user:edit')
  @AnswersStatus()
  disconnect(@CurrentCaller() caller: Caller, @Body() body: DisconnectedUserDto): Promise<void> {
    return this.disconnects.disconnectUser(caller, body.userId);
  }
}
