import { Controller, Get, Param } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, mayAny, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  flag,
  IdPipe,
  object,
  optional,
  text,
  View,
} from '../platform/http/index.js';
import { PermissionNodeView, RolePermissionsView, RoleService } from '../identity/index.js';

export class RouteMetaView extends View({
  title: text({ example: 'Models' }),
  icon: text({ example: 'lucide:cpu' }),
  noCache: flag({ example: false }),
}) {}

export class RouteView extends View({
  name: text({ example: 'ChatModel', description: 'Unique in the tree' }),
  path: text({ example: 'model', description: 'With a leading slash at the top level only' }),
  hidden: flag({ example: false }),
  component: text({ example: 'chat/model/index', description: '`Layout` for a folder' }),
  meta: object(RouteMetaView),
  redirect: optional(text({ example: 'noRedirect' })),
  alwaysShow: optional(flag({ example: true })),
}) {
  @ApiProperty({ required: false, type: () => [RouteView] })
  children?: RouteView[];
}

@ApiTags('existing consoles')
@Controller('system/menu')
export class MenuController {
  constructor(private readonly roles: RoleService) {}

  /** The pages of the admin console that the caller may open. */
  @Get('getRouters')
  @LoginOnly()
  @AnswersArray(RouteView)
  routers(@CurrentCaller() caller: Caller): RouteView[] {
    return menuOf(caller);
  }

  /** The permissions that the caller can give a role, as the tree of the role form; groups have no permission. */
  @Get('treeselect')
  @RequirePermission('system:role:list', 'system:role:query')
  @AnswersArray(PermissionNodeView)
  permissions(@CurrentCaller() caller: Caller): PermissionNodeView[] {
    return this.roles.permissionTree(caller);
  }

  /** The same tree with the permissions of a role checked. */
  @Get('roleMenuTreeselect/:roleId')
  @RequirePermission('system:role:query')
  @Answers(RolePermissionsView)
  permissionsOfRole(
    @CurrentCaller() caller: Caller,
    @Param('roleId', IdPipe) roleId: number,
  ): Promise<RolePermissionsView> {
    return this.roles.permissionsOf(caller, roleId);
  }
}

/** A page of the existing admin console. Callers who may list its records see it. */
interface MenuPage {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  /** The name of the page in the console. */
  readonly component: string;
  readonly permission: string;
  /** Opened by a button of another page; the console has no route for it of its own. */
  readonly hidden?: true;
}

interface MenuFolder {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  readonly pages: readonly MenuPage[];
}

/** The pages whose routes exist in this service, in the order of the menu. */
// oxfmt-ignore
const menu: readonly MenuFolder[] = [
  {
    path: 'chat', title: 'AI', icon: 'lucide:bot',
    pages: [
      { path: 'provider', title: 'Providers', icon: 'lucide:plug', component: 'chat/provider/index', permission: 'system:provider:list' },
      { path: 'model', title: 'Models', icon: 'lucide:cpu', component: 'chat/model/index', permission: 'system:model:list' },
      { path: 'message', title: 'Messages', icon: 'lucide:mail', component: 'chat/message/index', permission: 'system:message:list' },
    ],
  },
  {
    path: 'knowledge', title: 'Knowledge', icon: 'lucide:library',
    pages: [
      { path: 'info', title: 'Knowledge bases', icon: 'lucide:library', component: 'knowledge/info/index', permission: 'system:info:list' },
      { path: 'attach', title: 'Documents', icon: 'lucide:files', component: 'knowledge/attach/index', permission: 'system:attach:list' },
      { path: 'fragment', title: 'Fragments', icon: 'lucide:text-select', component: 'knowledge/fragment/index', permission: 'system:fragment:list' },
    ],
  },
  {
    path: 'agent', title: 'Agents', icon: 'lucide:bot-message-square',
    pages: [
      { path: 'agent', title: 'Agents', icon: 'lucide:bot-message-square', component: 'agent/agent/index', permission: 'agent:agent:list' },
    ],
  },
  {
    path: 'system', title: 'System', icon: 'lucide:settings',
    pages: [
      { path: 'user', title: 'Users', icon: 'lucide:user', component: 'system/user/index', permission: 'system:user:list' },
      { path: 'role', title: 'Roles', icon: 'lucide:users', component: 'system/role/index', permission: 'system:role:list' },
      { path: 'role-auth/user/:roleId', title: 'Users of a role', icon: 'lucide:users', component: 'system/role-assign/index', permission: 'system:role:list', hidden: true },
      { path: 'dict', title: 'Dictionary', icon: 'lucide:book-open', component: 'system/dict/index', permission: 'system:dict:list' },
      { path: 'oss', title: 'Files', icon: 'lucide:folder', component: 'system/oss/index', permission: 'system:oss:list' },
      { path: 'tenant', title: 'Tenants', icon: 'lucide:building', component: 'system/tenant/index', permission: 'system:tenant:list' },
      { path: 'client', title: 'Clients', icon: 'lucide:monitor-smartphone', component: 'system/client/index', permission: 'system:client:list' },
    ],
  },
  {
    path: 'monitor', title: 'Monitoring', icon: 'lucide:activity',
    pages: [
      { path: 'online', title: 'Sign-ins', icon: 'lucide:log-in', component: 'monitor/online/index', permission: 'monitor:online:list' },
      { path: 'operlog', title: 'Operation log', icon: 'lucide:scroll-text', component: 'monitor/operlog/index', permission: 'monitor:operlog:list' },
      { path: 'logininfor', title: 'Sign-in log', icon: 'lucide:history', component: 'monitor/logininfor/index', permission: 'monitor:logininfor:list' },
    ],
  },
];

/** The pages whose records the caller may list, in the folders that contain one. */
function menuOf(caller: Caller): RouteView[] {
  return menu.flatMap((folder) => {
    const pages = folder.pages.filter(({ permission }) => mayAny(caller, [permission]));
    return pages.length > 0 ? [folderRoute(folder, pages)] : [];
  });
}

function folderRoute({ path, title, icon }: MenuFolder, pages: readonly MenuPage[]): RouteView {
  return {
    name: nameOf(path),
    path: `/${path}`,
    hidden: false,
    redirect: 'noRedirect',
    component: 'Layout',
    alwaysShow: true,
    meta: { title, icon, noCache: false },
    children: pages.map((page) => ({
      name: nameOf(`${path}/${page.path}`),
      path: page.path,
      hidden: page.hidden ?? false,
      component: page.component,
      meta: { title: page.title, icon: page.icon, noCache: false },
    })),
  };
}

/** The words of a path: `role-auth/user/:roleId` is `RoleAuthUserRoleId`. */
function nameOf(path: string): string {
  const words = path.split(/\W+/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
