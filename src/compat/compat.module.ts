import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { Config } from '../platform/config/index.js';
import { WorkflowController } from './agent-lists.controller.js';
import { ConsoleSettingController } from './console-setting.controller.js';
import { MenuController } from './menu.controller.js';
import { NoticeController } from './notice.controller.js';
import { OtherSignInsController } from './other-sign-ins.controller.js';
import { PostController } from './post.controller.js';
import { UserUnlockController } from './user-unlock.controller.js';

/** Routes for existing consoles and apps, and for `streamNotices` of the client. Plinth's own console uses none of them. */
@Module({})
export class CompatModule {
  /** Empty if the configuration turns the routes off: they are 404 and absent from the OpenAPI document. */
  static for(config: Config): DynamicModule[] {
    if (!config.EXISTING_CONSOLES) return [];
    const controllers = [
      ConsoleSettingController,
      MenuController,
      NoticeController,
      OtherSignInsController,
      PostController,
      UserUnlockController,
      WorkflowController,
    ];
    return [{ module: CompatModule, controllers }];
  }
}
