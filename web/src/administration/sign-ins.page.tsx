import { Badge, Tabs, Text } from '@mantine/core';
import { IconLogin2, IconLogout } from '@tabler/icons-react';
import type { SignInView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { OwnSignIns } from '../account/own-sign-ins';
import { softwareOf } from '../account/software';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { Page } from '../ui/page';

/** Lists the active sign-ins of all users. */
export default function SignInsPage() {
  const { t } = useTranslation('administration');
  const [{ tab = 'all' }, change] = useSearchParams();
  return (
    <Page title={t('signIns.title')} description={t('signIns.about')}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          change({
            tab: value === 'all' ? undefined : (value ?? undefined),
            page: undefined,
            q: undefined,
            ip: undefined,
            sort: undefined,
          })
        }
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="all">{t('signIns.all')}</Tabs.Tab>
          <Tabs.Tab value="own">{t('signIns.own')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="all">
          <AllSignIns />
        </Tabs.Panel>
        <Tabs.Panel value="own">
          <OwnSignIns />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function AllSignIns() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  return (
    <DataTable
      name="sign-ins"
      label={t('signIns.title')}
      filters={[
        { name: 'q', label: t('signIns.search') },
        { name: 'ip', label: t('signIns.searchAddress') },
      ]}
      query={({ q, ip }: SearchParams) => ({ userName: q, ipaddr: ip })}
      load={(query, signal) => plinth.signInList({ query, signal })}
      rowKey={({ tokenId }: SignInView) => tokenId}
      columns={[
        {
          id: 'userName',
          title: t('signIns.user'),
          sort: true,
          cell: ({ userName, current }) => (
            <Text span fw={600}>
              {userName}
              {current && (
                <Badge ml="xs" size="sm" variant="light">
                  {t('signIns.thisOne')}
                </Badge>
              )}
            </Text>
          ),
        },
        { id: 'client', title: t('signIns.client'), sort: 'clientKey' },
        {
          id: 'software',
          title: t('signIns.software'),
          sort: 'browser',
          cell: (signIn) => softwareOf(signIn) || '–',
        },
        { id: 'ipaddr', title: t('signIns.address'), sort: true },
        { id: 'loginTime', title: t('signIns.since'), sort: true, show: 'time' },
        { id: 'lastActiveTime', title: t('signIns.lastActive'), sort: true, show: 'time' },
        {
          id: 'expireTime',
          title: t('signIns.expires'),
          sort: true,
          show: 'time',
          optional: true,
        },
        { id: 'deviceType', title: t('clients.device'), optional: true },
      ]}
      remove={
        may('monitor:online:forceLogout') && {
          single: true,
          icon: IconLogout,
          isFixed: ({ current }) => current,
          title: ({ userName }) => t('signIns.endNamed', { name: userName }),
          body: ([signIn]) => t('signIns.endBody', { name: signIn?.userName }),
          action: () => t('signIns.end'),
          run: async (rows) => {
            for (const { tokenId } of rows) await plinth.signInEndOther({ path: { tokenId } });
          },
          done: t('signIns.ended'),
        }
      }
      empty={<Empty icon={IconLogin2} title={t('signIns.empty')} />}
    />
  );
}
