import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly, mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersArray, flag, object, optional, text, View } from '../../platform/http/index.js';

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

/** A page of the existing admin console. Callers who may list its records see it. */
interface MenuPage {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  /** The name of the page in the console. */
  readonly component: string;
  readonly permission: string;
}

interface MenuFolder {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  readonly pages: readonly MenuPage[];
}

/** The pages whose routes exist in this service, in the order of the menu. */
// prettier-ignore
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
    name: capitalised(path),
    path: `/${path}`,
    hidden: false,
    redirect: 'noRedirect',
    component: 'Layout',
    alwaysShow: true,
    meta: { title, icon, noCache: false },
    children: pages.map((page) => ({
      name: capitalised(path) + capitalised(page.path),
      path: page.path,
      hidden: false,
      component: page.component,
      meta: { title: page.title, icon: page.icon, noCache: false },
    })),
  };
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
