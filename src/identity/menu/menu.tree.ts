import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { menu } from './menu.pages.js';
import type { MenuFolder, MenuPage } from './menu.pages.js';
import type { RouteView } from './menu.view.js';

/** The menu as the caller sees it: pages the caller may list, and folders that hold one. */
export function menuOf(caller: Caller): RouteView[] {
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
