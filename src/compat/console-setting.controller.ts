import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LoginOnly } from '../platform/access/index.js';
import { AnswersText } from '../platform/http/index.js';

/**
 * Settings that existing consoles ask for. This service has no table of settings: what it knows is fixed, and every other key
 * is empty, which the consoles take for "not set".
 */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  // The list of files shows images.
  ['sys.oss.previewListResource', 'true'],
  // No password is suggested for a new user.
  ['sys.user.initPassword', ''],
]);

@ApiTags('existing consoles')
@Controller('system/config')
export class ConsoleSettingController {
  /** The value of a setting; empty for a key that is not set. */
  @Get('configKey/:configKey')
  @LoginOnly()
  @AnswersText('true')
  get(@Param('configKey') configKey: string): string {
    return SETTINGS.get(configKey) ?? '';
  }
}
