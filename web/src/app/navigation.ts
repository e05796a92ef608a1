import {
  IconAddressBook,
  IconBook2,
  IconBrandStackshare,
  IconBuilding,
  IconChartBar,
  IconCode,
  IconCpu,
  IconDeviceDesktop,
  IconFiles,
  IconHistory,
  IconHome,
  IconKey,
  IconLockAccess,
  IconLogin2,
  IconMessage,
  IconPhoto,
  IconPlug,
  IconRobot,
  IconShieldLock,
  IconThumbUp,
  IconTrashX,
  IconUserCheck,
  IconUsers,
  IconUsersGroup,
  IconWorldSearch,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type app from './texts.en.json';

/** A page in the menu and the command palette. */
export interface Entry {
  readonly path: string;
  readonly title: keyof (typeof app)['pages'];
  readonly icon: Icon;
  /** Permissions of which one is required to open the page. Empty if every signed-in user may open it. */
  readonly permissions: readonly string[];
}

const entry = (
  path: string,
  title: Entry['title'],
  icon: Icon,
  ...permissions: readonly string[]
): Entry => ({ path, title, icon, permissions });

export const WORK: readonly Entry[] = [
  entry('/', 'home', IconHome),
  entry('/chat', 'chat', IconMessage, 'system:session:list'),
  entry('/knowledge', 'knowledge', IconBook2, 'system:info:list'),
  entry('/agents', 'agents', IconRobot, 'agent:agent:list'),
  entry('/media', 'media', IconPhoto),
  entry('/harness', 'harness', IconCode, 'coding:harness:use'),
  entry('/usage', 'usage', IconChartBar),
];

export const ADMINISTRATION: readonly Entry[] = [
  entry('/providers', 'providers', IconBrandStackshare, 'system:provider:list'),
  entry('/models', 'models', IconCpu, 'system:model:list'),
  entry('/tool-servers', 'toolServers', IconPlug, 'mcp:server:list'),
  entry('/search-providers', 'searchProviders', IconWorldSearch, 'system:search:list'),
  entry('/users', 'users', IconUsers, 'system:user:list'),
  entry('/roles', 'roles', IconShieldLock, 'system:role:list'),
  entry('/groups', 'groups', IconUsersGroup, 'system:group:list'),
  entry('/access', 'access', IconLockAccess, 'access:administer'),
  entry('/keys', 'keys', IconKey, 'system:apikey:others'),
  entry('/sso', 'sso', IconUserCheck, 'system:sso:list'),
  entry('/tenants', 'tenants', IconBuilding, 'system:tenant:list'),
  entry('/clients', 'clients', IconDeviceDesktop, 'system:client:list'),
  entry('/dictionary', 'dictionary', IconAddressBook, 'system:dict:list'),
  entry('/sign-ins', 'signIns', IconLogin2, 'monitor:online:list'),
  entry(
    '/audit',
    'audit',
    IconHistory,
    'monitor:audit:list',
    'monitor:operlog:list',
    'monitor:logininfor:list',
  ),
  entry('/retention', 'retention', IconTrashX, 'system:retention:list'),
  entry('/feedback', 'feedback', IconThumbUp, 'chat:feedback:list'),
  entry('/files', 'files', IconFiles, 'system:oss:list'),
];

export const ENTRIES: readonly Entry[] = [...WORK, ...ADMINISTRATION];
