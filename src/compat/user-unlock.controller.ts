import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AnswersStatus } from '../platform/http/index.js';
import { UserService } from '../identity/index.js';

/** The sign-in log of existing consoles has a button for it, and calls it with GET. */
@ApiTags('existing consoles')
@Controller('monitor/logininfor/unlock')
export class UserUnlockController {
  constructor(private readonly users: UserService) {}

  /** Ends the lock of a user after too many wrong passwords. */
  @Get(':account')
  @RequirePermission('system:user:resetPwd')
  @AnswersStatus()
  unlock(@CurrentCaller() caller: Caller, @Param('account') account: string): Promise<void> {
    return this.users.unlock(caller, account);
  }
}
