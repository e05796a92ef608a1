import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { Failure, NotFound } from '../ui/states';
import { parseSearchParams, addressText } from './search-params';
import type { SearchParams } from './search-params';
import { ENTRIES } from './navigation';
import { session } from './session';

type Page = () => Promise<{ default: ComponentType }>;

const address = (search: Record<string, unknown>): SearchParams => search as SearchParams;

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: address,
  component: lazyRouteComponent(() => import('../sign-in/sign-in.page')),
});

/** Route of everything behind the sign-in: the menu and the page beside it. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: ({ location }) => {
    if (session.current) return;
    const next = location.href === '/' ? {} : { next: location.href };
    throw redirect({ to: '/sign-in', search: next });
  },
  component: lazyRouteComponent(() => import('./shell')),
});

/** Pages are loaded when opened. A page requires the permission of the menu entry with the same first segment. */
const page = <Path extends string>(path: Path, load: Page) =>
  createRoute({
    getParentRoute: () => shell,
    path,
    validateSearch: address,
    component: lazyRouteComponent(load),
  });

const routes = root.addChildren([
  signIn,
  shell.addChildren([
    page('/', () => import('../home/home.page')),
    page('/account', () => import('../account/account.page')),
    page('/account/keys', () => import('../apikey/own-keys.page')),
    page('/oauth/authorize', () => import('../apikey/authorize.page')),

    page('/chat', () => import('../chat/chat.page')),
    page('/chat/$sessionId', () => import('../chat/chat.page')),

    page('/knowledge', () => import('../knowledge/knowledge.page')),
    page('/knowledge/$knowledgeId', () => import('../knowledge/base.page')),
    page(
      '/knowledge/$knowledgeId/documents/$documentId',
      () => import('../knowledge/document.page'),
    ),

    page('/agents', () => import('../agent/agents.page')),
    page('/agents/$agentId', () => import('../agent/agent.page')),

    page('/media', () => import('../media/media.page')),

    page('/harness', () => import('../harness/sessions.page')),
    page('/harness/approvals', () => import('../harness/approvals.page')),
    page('/harness/$sessionId', () => import('../harness/session.page')),
    page('/harness/$sessionId/$runId', () => import('../harness/session.page')),

    page('/usage', () => import('../usage/usage.page')),

    page('/providers', () => import('../provider/providers.page')),
    page('/models', () => import('../model/models.page')),
    page('/models/$modelId', () => import('../model/model.page')),

    page('/tool-servers', () => import('../mcp/servers.page')),
    page('/tool-servers/$serverId', () => import('../mcp/server.page')),
    page('/search-providers', () => import('../search/providers.page')),

    page('/users', () => import('../administration/users.page')),
    page('/roles', () => import('../administration/roles.page')),
    page('/roles/$roleId', () => import('../administration/role.page')),
    page('/groups', () => import('../administration/groups.page')),
    page('/groups/$groupId', () => import('../administration/group.page')),
    page('/access', () => import('../access/records.page')),
    page('/keys', () => import('../apikey/keys.page')),
    page('/sso', () => import('../sso/sso.page')),
    page('/tenants', () => import('../administration/tenants.page')),
    page('/clients', () => import('../administration/clients.page')),
    page('/dictionary', () => import('../administration/dictionary.page')),
    page('/sign-ins', () => import('../administration/sign-ins.page')),
    page('/audit', () => import('../administration/audit.page')),
    page('/retention', () => import('../administration/retention.page')),
    page('/feedback', () => import('../administration/feedback.page')),
    page('/files', () => import('../administration/files.page')),

    page('/$', () => Promise.resolve({ default: NotFound })),
  ]),
]);

/** Permissions of which one is required for the page at `path`. Empty if every signed-in user may open it. */
export function permissionsOf(path: string): readonly string[] {
  const [, first = ''] = path.split('/');
  return ENTRIES.find((entry) => entry.path === `/${first}`)?.permissions ?? [];
}

export const router = createRouter({
  routeTree: routes,
  parseSearch: parseSearchParams,
  stringifySearch: addressText,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
