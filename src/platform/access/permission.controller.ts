import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AnswersPage, Page, text, View } from '../http/index.js';
import { CurrentCaller, isSuperAdmin, RequirePermission } from './access.js';
import type { Caller } from './access.js';
import { permissionCatalogue } from './permission.catalogue.js';

class PermissionView extends View({
  permission: text({ example: 'system:model:list' }),
  group: text({ example: 'models' }),
  description: text({ example: 'See the list: models' }),
}) {}

@ApiTags('roles')
@Controller('system/permission')
export class PermissionController {
  /** The permissions that the caller can assign to a role. */
  @Get('list')
  @RequirePermission('system:role:list')
  @AnswersPage(PermissionView)
  list(@CurrentCaller() caller: Caller): Page<PermissionView> {
    const grantable = permissionCatalogue.filter(
      (info) => !info.superAdminOnly && (isSuperAdmin(caller) || !info.installation),
    );
    const rows = grantable.map((info) => PermissionView.of(info));
    return new Page(rows, rows.length);
  }
}
