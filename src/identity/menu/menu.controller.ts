import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersArray } from '../../platform/http/index.js';
import { menuOf } from './menu.js';
import { RouteView } from './menu.view.js';

@ApiTags('own account')
@Controller('system/menu')
export class MenuController {
  /** The pages of the admin console that the caller may open. */
  @Get('getRouters')
  @LoginOnly()
  @AnswersArray(RouteView)
  routers(@CurrentCaller() caller: Caller): RouteView[] {
    return menuOf(caller);
  }
}
