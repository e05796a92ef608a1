import {
  ActionIcon,
  AppShell,
  Avatar,
  Box,
  Burger,
  Group,
  Kbd,
  Menu,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  Tooltip,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys, useLocalStorage, useMediaQuery } from '@mantine/hooks';
import {
  IconBuildingSkyscraper,
  IconChevronDown,
  IconDeviceLaptop,
  IconLanguage,
  IconLayoutSidebarLeftCollapse,
  IconLayoutSidebarLeftExpand,
  IconLogout,
  IconMoon,
  IconSearch,
  IconSun,
  IconUser,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from './plinth';
import { changeLanguage, LANGUAGES, language } from '../i18n';
import type { Language } from '../i18n';
import { Failure, Forbidden, PageSkeleton } from '../ui/states';
import { MenuItem } from '../ui/menu-item';
import { OfflineBanner } from '../ui/offline-banner';
import { ApprovalCount } from '../harness/approval-count';
import { meQuery, useMe } from './me';
import { ADMINISTRATION, WORK } from './navigation';
import type { Entry } from './navigation';
import { permissionsOf } from './router';
import { session, useIsLapsed } from './session';
import styles from './shell.module.css';

const Palette = lazy(() => import('./palette'));
const SignInOver = lazy(() => import('../sign-in/sign-in-over'));
const TenantSwitch = lazy(() => import('./tenant-switch'));

/** The menu on the left and the page beside it; a drawer under 768 px. */
export default function Shell() {
  const { t } = useTranslation();
  const isNarrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  const [drawer, { toggle: toggleDrawer, close: closeDrawer }] = useDisclosure();
  const [collapsed, setCollapsed] = useLocalStorage({
    key: 'plinth.menu-collapsed',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const [searching, setSearching] = useState(false);
  useHotkeys([['mod+K', () => setSearching(true)]], []);
  const isCollapsed = collapsed && !isNarrow;
  const isLapsed = useIsLapsed();

  return (
    <AppShell
      layout="alt"
      padding={0}
      header={{ height: 48, collapsed: !isNarrow }}
      navbar={{
        width: isCollapsed ? 60 : 232,
        breakpoint: 'sm',
        collapsed: { mobile: !drawer },
      }}
      transitionDuration={120}
    >
      <a className="skip-link" href="#page">
        {t('skipToPage')}
      </a>
      <AppShell.Header className={styles['header']} hiddenFrom="sm">
        <Burger
          opened={drawer}
          onClick={toggleDrawer}
          size="sm"
          aria-label={t(drawer ? 'closeMenu' : 'openMenu')}
        />
        <Text fw={600}>Plinth</Text>
        <ActionIcon aria-label={t('search')} onClick={() => setSearching(true)} size="lg">
          <IconSearch size={18} stroke={1.5} />
        </ActionIcon>
      </AppShell.Header>

      <AppShell.Navbar className={styles['navbar']} aria-label={t('menu')}>
        <Group justify={isCollapsed ? 'center' : 'space-between'} className={styles['brand']}>
          {!isCollapsed && (
            <Link to="/" className={styles['name']} onClick={closeDrawer}>
              <img src="/icon.svg" alt="" width={20} height={20} />
              Plinth
            </Link>
          )}
          {isNarrow ? (
            <Burger opened onClick={closeDrawer} size="sm" aria-label={t('closeMenu')} />
          ) : (
            <Tooltip label={t(isCollapsed ? 'expandMenu' : 'collapseMenu')}>
              <ActionIcon
                aria-label={t(isCollapsed ? 'expandMenu' : 'collapseMenu')}
                onClick={() => setCollapsed(!collapsed)}
              >
                {isCollapsed ? (
                  <IconLayoutSidebarLeftExpand size={18} stroke={1.5} />
                ) : (
                  <IconLayoutSidebarLeftCollapse size={18} stroke={1.5} />
                )}
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        <Box px="xs" pb="xs">
          <SearchButton small={isCollapsed} onOpen={() => setSearching(true)} />
        </Box>
        <ScrollArea className={styles['entries']} scrollbarSize={6}>
          <Entries entries={WORK} small={isCollapsed} onOpen={closeDrawer} />
          <AdministrationEntries small={isCollapsed} onOpen={closeDrawer} />
        </ScrollArea>
        <AccountMenu small={isCollapsed} onOpen={closeDrawer} />
      </AppShell.Navbar>

      <AppShell.Main id="page" className={styles['main']} tabIndex={-1}>
        <OfflineBanner />
        <Suspense fallback={<PageSkeleton />}>
          <AllowedPage />
        </Suspense>
      </AppShell.Main>
      {searching && (
        <Suspense>
          <Palette onClose={() => setSearching(false)} />
        </Suspense>
      )}
      {isLapsed && (
        <Suspense>
          <SignInOver />
        </Suspense>
      )}
    </AppShell>
  );
}

function SearchButton({ small, onOpen }: { readonly small: boolean; readonly onOpen: () => void }) {
  const { t } = useTranslation();
  if (small) {
    return (
      <Tooltip label={`${t('search')} (Ctrl K)`} position="right">
        <ActionIcon aria-label={t('search')} onClick={onOpen} size="lg" mx="auto" display="block">
          <IconSearch size={18} stroke={1.5} />
        </ActionIcon>
      </Tooltip>
    );
  }
  return (
    <UnstyledButton className={styles['search']} onClick={onOpen}>
      <IconSearch size={16} stroke={1.5} />
      <span>{t('search')}</span>
      <Kbd size="xs" visibleFrom="sm">
        Ctrl K
      </Kbd>
    </UnstyledButton>
  );
}

interface EntriesProps {
  readonly small: boolean;
  readonly onOpen: () => void;
}

function Entries({
  entries,
  small,
  onOpen,
}: EntriesProps & { readonly entries: readonly Entry[] }) {
  const { may } = useMe();
  const allowed = entries.filter(({ permissions }) => may(...permissions));
  return allowed.map((entry) => (
    <EntryLink key={entry.path} entry={entry} small={small} onOpen={onOpen} />
  ));
}

function AdministrationEntries({ small, onOpen }: EntriesProps) {
  const { t } = useTranslation();
  const { may } = useMe();
  if (!ADMINISTRATION.some(({ permissions }) => may(...permissions))) return null;
  return (
    <>
      {small ? (
        <div className={styles['divider']} />
      ) : (
        <Text className={styles['group']}>{t('administration')}</Text>
      )}
      <Entries entries={ADMINISTRATION} small={small} onOpen={onOpen} />
    </>
  );
}

function EntryLink({ entry, small, onOpen }: EntriesProps & { readonly entry: Entry }) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  const { path, icon: Icon } = entry;
  const active = path === '/' ? pathname === '/' : `${pathname}/`.startsWith(`${path}/`);
  const title = t(`pages.${entry.title}`);
  const link = (
    <NavLink
      renderRoot={(props) => <Link to={path as never} {...props} />}
      active={active}
      aria-current={active ? 'page' : undefined}
      aria-label={title}
      label={small ? undefined : title}
      leftSection={<Icon size={18} stroke={1.5} />}
      rightSection={path === '/harness' && <ApprovalCount small={small} />}
      className={small ? styles['smallEntry'] : styles['entry']}
      onClick={onOpen}
    />
  );
  return small ? (
    <Tooltip label={title} position="right">
      {link}
    </Tooltip>
  ) : (
    link
  );
}

function AccountMenu({ small, onOpen }: EntriesProps) {
  const { t } = useTranslation();
  const { user, may, tenantId } = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [switching, setSwitching] = useState(false);
  const name = user?.nickName || user?.userName || '';
  const signOut = async (): Promise<void> => {
    await session.prepareSignOut();
    // The sign-in ends in this browser even if the service cannot be reached.
    const ended = await plinth.ssoAuthLogout().catch(() => undefined);
    session.end();
    if (ended?.address) location.assign(ended.address);
  };
  return (
    <div className={styles['account']}>
      <Menu position="top-start" width={232}>
        <Menu.Target>
          <UnstyledButton
            className={styles['accountButton']}
            aria-label={t('account', { name, tenant: tenantId })}
          >
            <Avatar alt="" size={28} radius="xl" color="indigo" name={name} src={user?.avatar} />
            {!small && (
              <>
                <Stack gap={0} className={styles['accountName']}>
                  <Text size="sm" truncate>
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed" truncate>
                    {tenantId}
                  </Text>
                </Stack>
                <IconChevronDown size={14} stroke={1.5} />
              </>
            )}
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <MenuItem
            icon={IconUser}
            renderRoot={(props) => <Link to="/account" {...props} />}
            onClick={onOpen}
          >
            {t('pages.account')}
          </MenuItem>
          {may('system:tenant:query') && (
            <MenuItem icon={IconBuildingSkyscraper} onClick={() => setSwitching(true)}>
              {t('switchTenant')}
            </MenuItem>
          )}
          <Menu.Divider />
          <Menu.Label>{t('theme')}</Menu.Label>
          <Group gap={4} px="xs" pb={4} role="radiogroup" aria-label={t('theme')}>
            {(
              [
                ['light', IconSun],
                ['dark', IconMoon],
                ['auto', IconDeviceLaptop],
              ] as const
            ).map(([scheme, Icon]) => (
              <Tooltip key={scheme} label={t(`themes.${scheme}`)}>
                <ActionIcon
                  role="radio"
                  aria-checked={colorScheme === scheme}
                  aria-label={t(`themes.${scheme}`)}
                  variant={colorScheme === scheme ? 'light' : 'subtle'}
                  onClick={() => setColorScheme(scheme)}
                >
                  <Icon size={16} stroke={1.5} />
                </ActionIcon>
              </Tooltip>
            ))}
          </Group>
          <Menu.Label>{t('language')}</Menu.Label>
          {Object.entries(LANGUAGES).map(([code, title]) => (
            <MenuItem
              key={code}
              lang={code}
              icon={IconLanguage}
              fw={language() === code ? 600 : 400}
              onClick={() => void changeLanguage(code as Language)}
            >
              {title}
            </MenuItem>
          ))}
          <Menu.Divider />
          <MenuItem icon={IconLogout} onClick={() => void signOut()}>
            {t('signOut')}
          </MenuItem>
        </Menu.Dropdown>
      </Menu>
      {switching && (
        <Suspense>
          <TenantSwitch onClose={() => setSwitching(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** The page at the current URL, or the reason why the user may not open it. */
function AllowedPage() {
  const { pathname } = useLocation();
  const { may } = useMe();
  const { data, error, isPending, refetch } = useQuery(meQuery);
  if (isPending) return <PageSkeleton />;
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  const permissions = permissionsOf(pathname);
  if (!may(...permissions)) return <Forbidden permissions={permissions} />;
  return <Outlet />;
}
