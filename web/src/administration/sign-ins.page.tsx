import { Badge, Tabs, Text } from '@mantine/core';
import { IconLogin2, IconLogout } from '@tabler/icons-react';
import type { SignInView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { OwnSignIns } from '../account/own-sign-ins';
import { softwareOf } from '../account/software';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';

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
  const end = useAction(({ tokenId }: SignInView) => plinth.signInEndOther({ path: { tokenId } }), {
    done: t('signIns.ended'),
    changes: [['sign-ins']],
  });
  const askToEnd = (signIn: SignInView): void =>
    confirmDestruction({
      title: t('signIns.endNamed', { name: signIn.userName }),
      body: t('signIns.endBody', { name: signIn.userName }),
      action: t('signIns.end'),
      run: () => end.mutateAsync(signIn),
    });
  return (
    <DataTable
      name="sign-ins"
      label={t('signIns.title')}
      filters={['q', 'ip']}
      columns={[
        {
          id: 'userName',
          title: t('signIns.user'),
          sort: 'userName',
          cell: ({ userName, current }: SignInView) => (
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
        {
          id: 'client',
          title: t('signIns.client'),
          sort: 'clientKey',
          cell: ({ clientKey }) => clientKey,
        },
        {
          id: 'software',
          title: t('signIns.software'),
          sort: 'browser',
          cell: (signIn) => softwareOf(signIn) || '–',
        },
        {
          id: 'ipaddr',
          title: t('signIns.address'),
          sort: 'ipaddr',
          cell: ({ ipaddr }) => ipaddr ?? '–',
        },
        {
          id: 'loginTime',
          title: t('signIns.since'),
          sort: 'loginTime',
          cell: ({ loginTime }) => <Time value={loginTime} />,
        },
        {
          id: 'lastActiveTime',
          title: t('signIns.lastActive'),
          sort: 'lastActiveTime',
          cell: ({ lastActiveTime }) => <Time value={lastActiveTime} />,
        },
        {
          id: 'expireTime',
          title: t('signIns.expires'),
          sort: 'expireTime',
          optional: true,
          cell: ({ expireTime }) => <Time value={expireTime} />,
        },
        {
          id: 'deviceType',
          title: t('clients.device'),
          optional: true,
          cell: ({ deviceType }) => deviceType ?? '–',
        },
      ]}
      load={(query, { q, ip }, signal) =>
        plinth.signInList({ query: { ...query, userName: q, ipaddr: ip }, signal })
      }
      rowKey={({ tokenId }) => tokenId}
      toolbar={
        <>
          <AddressSearch name="q" label={t('signIns.search')} />
          <AddressSearch name="ip" label={t('signIns.searchAddress')} />
        </>
      }
      empty={<Empty icon={IconLogin2} title={t('signIns.empty')} />}
      {...(may('monitor:online:forceLogout') && {
        rowActions: (signIn: SignInView) => (
          <MenuItem
            color="red"
            icon={IconLogout}
            disabled={signIn.current}
            onClick={() => askToEnd(signIn)}
          >
            {t('signIns.end')}
          </MenuItem>
        ),
      })}
    />
  );
}
